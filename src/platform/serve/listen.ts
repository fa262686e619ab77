import type { AddressInfo, Server } from "node:net";
import { CodedError } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import type { Address } from "../config/index.ts";

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program listens there; stop it, or choose another port",
  EACCES: "this user may not listen there; choose a port above 1023",
  EADDRNOTAVAIL: "this machine has no such address; choose one of its own, or leave the host out for all of them",
  ENOTFOUND: "there is no such host; choose an address of this machine, or leave the host out for all of them",
};

/** Rejects with one line that says which address, why not, and what to do. */
export async function listen(server: Server, { host, port }: Address, variable: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const refuse = (error: NodeJS.ErrnoException): void => {
    const shown = `${host?.includes(":") === true ? `[${host}]` : (host ?? "")}:${port}`;
    reject(
      new CodedError(
        "JOULIE_E_LISTEN",
        `cannot listen on ${variable} ${shown}: ${reasons[error.code ?? ""] ?? error.message}`,
        { cause: error },
      ),
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

/** The URL of a server that listens. A server on all addresses is reachable as localhost. */
export function serverUrl(scheme: "http" | "https", server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  if (address === "::" || address === "0.0.0.0") return `${scheme}://localhost:${port}`;
  return `${scheme}://${address.includes(":") ? `[${address}]` : address}:${port}`;
}

/** Stops listening and waits for open connections, for `limit` at the most; `closeAll` then closes them. */
export async function closeServer(
  server: Server,
  { clock, limit, closeAll }: { readonly clock: Clock; readonly limit: Milliseconds; readonly closeAll: () => void },
): Promise<void> {
  await new Promise<void>((resolve) => {
    const late = clock.after(limit, closeAll);
    server.close(() => {
      late.cancel();
      resolve();
    });
  });
}
