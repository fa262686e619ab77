import { createServer } from "node:net";
import { systemRandom } from "../random/index.ts";

/**
 * Below the range from which the kernel takes ports for outgoing connections and for port 0: another process is unlikely to take
 * one before it is used, and a restarted program can bind its port again.
 */
const LOWEST = 20_000;
const HIGHEST = 32_000;
const ATTEMPTS = 1000;

/** Distinct free loopback ports. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const found = new Set<number>();
  for (let attempt = 0; found.size < count; attempt++) {
    if (attempt === ATTEMPTS) throw new Error(`found no ${count} free loopback ports from ${LOWEST} to ${HIGHEST}`);
    const port = LOWEST + Math.floor(systemRandom.next() * (HIGHEST - LOWEST));
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
