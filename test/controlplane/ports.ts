import { createServer } from "node:net";

/** Below the kernel's range for outgoing connections, so that a restarted program can bind its port again. */
const lowest = 20_000;
const highest = 32_000;

/** Distinct free loopback ports. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  for (let attempt = 0; found.size < count; attempt++) {
    if (attempt === 1000) throw new Error(`found no ${count} free loopback ports from ${lowest} to ${highest}`);
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (!found.has(port) && (await isFree(port))) found.add(port);
  }
  return [...found];
}

export async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
