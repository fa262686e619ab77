import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Address } from "../../../platform/config/index.ts";
import { ConnectionLimiter, closeServer, listen, serverUrl } from "../../../platform/serve/index.ts";
import { ExtenderRequestHandler, type ExtenderRequestHandlerOptions } from "./request-handler.ts";
import { readTls, type TlsFiles, watchTlsFiles } from "./tls.ts";

export interface SchedulerServerOptions extends ExtenderRequestHandlerOptions {
  readonly address: Address;
  readonly tls?: TlsFiles | undefined;
  readonly limits: SchedulerServerLimits;
}

/** Limits for what one client can take from the others. */
export interface SchedulerServerLimits {
  /** From the connection, or the first byte of a later request, to the end of the header. Also the limit of a TLS handshake. */
  readonly header: Milliseconds;
  /** From the first byte of a request to its last; kube-scheduler itself gives up after 5 s by default. */
  readonly request: Milliseconds;
  /** From the request to the last byte that the client receives. */
  readonly response: Milliseconds;
  /** Longer than Go clients keep an idle connection (90 s), so that no request races with the close. */
  readonly idle: Milliseconds;
  /** In total; one client address gets at most half of them. */
  readonly connections: number;
  readonly close: Milliseconds;
}

export const defaultServerLimits: SchedulerServerLimits = {
  header: milliseconds(3000),
  request: milliseconds(10_000),
  response: milliseconds(30_000),
  idle: milliseconds(120_000),
  connections: 512,
  close: milliseconds(10_000),
};

export interface SchedulerServer {
  readonly url: string;
  /** Keeps answering, but closes each connection after its response, so that clients reconnect to another replica. */
  stopKeepAlive(): void;
  /** Accepts no more connections, finishes requests in progress within the limit, and frees the port. */
  close(): Promise<void>;
}

export async function serveScheduler(options: SchedulerServerOptions): Promise<SchedulerServer> {
  const { address, clock, log, tls, limits } = options;
  let isKeepAliveStopped = false;
  let closing: Promise<void> | undefined;
  const listener: RequestListener = (request, response) => {
    const isProven = connections.began(request);
    if (isKeepAliveStopped) response.shouldKeepAlive = false;
    const timeout = clock.after(limits.response, () => response.destroy(), { background: true });
    response.once("close", () => {
      timeout.cancel();
      connections.ended(request, response.writableFinished && response.statusCode === 200);
      if (closing !== undefined) request.socket.end();
    });
    new ExtenderRequestHandler(options, request, response, isProven).run().catch((err: unknown) => {
      if (!response.destroyed) log.error({ err }, "response aborted");
      response.destroy();
    });
  };
  const material = tls && (await readTls(tls));
  const server = serverOf(material && { ...material, mutual: tls.clientCa !== undefined }, limits, listener);
  const connections = new ConnectionLimiter(server, limits.connections, clock, (count) =>
    options.metrics.countClosedConnections(count),
  );
  await listen(server, address, "EXTENDER_ADDR");
  server.on("error", (err) => log.error({ err }, "HTTP server error"));
  const renewal =
    material &&
    watchTlsFiles({
      files: tls,
      first: material,
      renew: (next) => (server as TlsServer).setSecureContext(next),
      clock,
      log,
    });
  const closeAll = () => {
    log.warn("closed the connections of requests that were still in progress");
    server.closeAllConnections();
  };
  return {
    url: serverUrl(tls === undefined ? "http" : "https", server),
    stopKeepAlive: () => {
      isKeepAliveStopped = true;
    },
    close: async () => {
      renewal?.stop();
      if (closing === undefined) {
        closing = closeServer(server, { clock, limit: limits.close, closeAll });
        connections.closeUnused();
      }
      return closing;
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
