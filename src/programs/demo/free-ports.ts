import { type AddressInfo, createServer } from "node:net";

/** Finds distinct free TCP ports. Another process may still take one before it is used. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  try {
    return await Promise.all(
      servers.map(
        async (server) =>
          new Promise<number>((resolve, reject) => {
            server.once("error", reject);
            server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
          }),
      ),
    );
  } finally {
    for (const server of servers) server.close();
  }
}
