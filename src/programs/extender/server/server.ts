import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { Address } from "../../../platform/config/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import { ConnectionLimiter, listen } from "../../../platform/serve/index.ts";
import { ExtenderRequestHandler, type ExtenderRequestHandlerOptions } from "./request-handler.ts";
import { readTls, type TlsFiles, watchTlsFiles } from "./tls.ts";

export interface SchedulerServerOptions extends ExtenderRequestHandlerOptions {
  readonly address: Address;
  readonly tls?: TlsFiles | undefined;
  readonly limits: SchedulerServerLimits;
}

/** What one client can take from the others. */
export interface SchedulerServerLimits {
  /** From the connection or the first byte of a further request to the end of its header; a TLS handshake has as long again. */
  readonly header: Milliseconds;
  /** From the first byte of a request to its last; kube-scheduler itself gives up after 5 s by default. */
  readonly request: Milliseconds;
  /** From the request to the last byte that the client has taken. */
  readonly response: Milliseconds;
  /** Longer than Go's clients keep a connection they do not use (90 s), so that none asks just when we hang up. */
  readonly idle: Milliseconds;
  /** Altogether; one client address gets half of them. */
  readonly connections: number;
  /** Requests that may wait for memory: as many as there may be connections, since waiting takes none. */
  readonly waiting: number;
  /** How long `close` waits for answers under way. */
  readonly close: Milliseconds;
}

export const defaultServerLimits: SchedulerServerLimits = {
  header: milliseconds(3000),
  request: milliseconds(10_000),
  response: milliseconds(30_000),
  idle: milliseconds(120_000),
  connections: 512,
  waiting: 512,
  close: milliseconds(10_000),
};

export interface SchedulerServer {
  /** How to reach it from this machine. */
  readonly url: string;
  /** Goes on answering, and has clients come back over a new connection: which leads to another extender where there is one. */
  stopKeepAlive(): void;
  /** Takes no more connections, answers what is under way for as long as the limit says, and frees the port. */
  close(): Promise<void>;
}

/** The server kube-scheduler asks. */
export async function serveScheduler(options: SchedulerServerOptions): Promise<SchedulerServer> {
  const { address, clock, log, tls, limits } = options;
  let leaving = false;
  let closing: Promise<void> | undefined;
  const listener: RequestListener = (request, response) => {
    const isProven = connections.began(request);
    if (leaving) response.shouldKeepAlive = false;
    const late = clock.after(limits.response, () => response.destroy(), { background: true });
    response.once("close", () => {
      late.cancel();
      connections.ended(request, response.writableFinished && response.statusCode === 200);
      if (closing !== undefined) request.socket.end();
    });
    new ExtenderRequestHandler(options, request, response, isProven).run().catch((err: unknown) => {
      if (!response.destroyed) log.error({ err }, "an answer broke off");
      response.destroy();
    });
  };
  const material = tls && (await readTls(tls));
  const server = serverOf(material && { ...material, mutual: tls.clientCa !== undefined }, limits, listener);
  const connections = new ConnectionLimiter(server, limits.connections, clock, (count) =>
    options.metrics.countClosedConnections(count),
  );
  await listen(server, address, "EXTENDER_ADDR");
  server.on("error", (err) => log.error({ err }, "the server for kube-scheduler has a problem"));
  const renewal =
    material &&
    watchTlsFiles({
      files: tls,
      first: material,
      renew: (next) => (server as TlsServer).setSecureContext(next),
      clock,
      log,
    });
  return {
    url: urlOf(tls === undefined ? "http" : "https", server.address() as AddressInfo),
    stopKeepAlive: () => {
      leaving = true;
    },
    close: async () => {
      renewal?.stop();
      return (closing ??= drained(server, connections, limits.close, clock, log));
    },
  };
}

function serverOf(
  tls: { readonly mutual: boolean } | undefined,
  limits: SchedulerServerLimits,
  listener: RequestListener,
): Server | TlsServer {
  const http = {
    headersTimeout: Math.min(limits.header, limits.request),
    requestTimeout: limits.request,
    keepAliveTimeout: limits.idle,
    connectionsCheckingInterval: Math.min(limits.header, limits.request) / 4,
    maxHeaderSize: 16_384,
    noDelay: true,
  };
  if (tls === undefined) return createServer(http, listener);
  const { mutual, ...material } = tls;
  return createTlsServer(
    { ...http, ...material, requestCert: mutual, rejectUnauthorized: mutual, handshakeTimeout: limits.header },
    listener,
  );
}

function urlOf(scheme: string, { address, port }: AddressInfo): string {
  if (address === "::" || address === "0.0.0.0") return `${scheme}://localhost:${port}`;
  return `${scheme}://${address.includes(":") ? `[${address}]` : address}:${port}`;
}

async function drained(
  server: Server | TlsServer,
  connections: ConnectionLimiter,
  limit: Milliseconds,
  clock: Clock,
  log: Logger,
): Promise<void> {
  await new Promise<void>((resolve) => {
    const late = clock.after(limit, () => {
      log.warn("answers were still under way; their connections were closed");
      server.closeAllConnections();
    });
    server.close(() => {
      late.cancel();
      resolve();
    });
    connections.closeUnused();
  });
}
