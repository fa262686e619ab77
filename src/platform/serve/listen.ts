import { type AddressInfo, createServer, type Server } from "node:net";
import { CodedError } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import type { Address } from "../config/index.ts";
import { systemRandom } from "../random/index.ts";

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
      new CodedError(
        "JOULIE_E_LISTEN",
        `cannot listen on ${variable} ${formatted}: ${reasons[error.code ?? ""] ?? error.message}`,
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

/**
 * Below the range from which the kernel takes ports for outgoing connections and for port 0: another process is unlikely to take
 * one before it is used, and a restarted program can bind its port again.
 */
const LOWEST = 20_000;
const HIGHEST = 32_000;
const ATTEMPTS = 1000;

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
