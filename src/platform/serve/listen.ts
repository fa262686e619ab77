import type { Server } from "node:net";
import type { Address } from "../config/index.ts";

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program uses this address; stop it, or choose another port",
  EACCES: "this user may not use this port; choose a port above 1023",
  EADDRNOTAVAIL:
    "this machine does not have this address; choose one of its addresses, or omit the host to listen on all",
  ENOTFOUND: "the host does not exist; choose an address of this machine, or omit the host to listen on all",
};

/** Starts listening. Rejects with one line that names the address, the cause and the remedy. */
export async function listen(server: Server, { host, port }: Address, variable: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const refuse = (error: NodeJS.ErrnoException): void => {
    const formatted = `${host?.includes(":") === true ? `[${host}]` : (host ?? "")}:${port}`;
    reject(
      new Error(`cannot listen on ${variable} ${formatted}: ${reasons[error.code ?? ""] ?? error.message}`, {
        cause: error,
      }),
    );
  };
  server.once("error", refuse);
  server.listen({ port, ...(host === undefined ? {} : { host }) }, resolve);
  try {
    await promise;
  } finally {
    server.off("error", refuse);
  }
}
