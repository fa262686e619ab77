import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import type { Address } from "../config/index.ts";
import { isLoopbackHost } from "../http/index.ts";
import type { Logger } from "../log/index.ts";
import { ConnectionLimiter } from "./connection-limiter.ts";
import {
  DebugAccess,
  type DebugPage,
  namesLoopback,
  nothingFound,
  pageReply,
  type StreamedPage,
} from "./debug-access.ts";
import { closeServer, listen, serverUrl } from "./listen.ts";
import { type HealthChecks, healthReply, type Reply, sendReply, textReply } from "./reply.ts";

export interface ServeOptions {
  readonly address: Address;
  /** The variable that holds the address, for the error message if listening fails. */
  readonly variable?: string;
  readonly metrics: { readonly contentType: string; text(): AsyncIterable<string> };
  /** Liveness checks: failures that a restart fixes. */
  readonly live?: HealthChecks;
  /** Readiness checks: conditions for the program to work. */
  readonly ready?: HealthChecks;
  /** Debug pages by path, such as `/debug/plan`. */
  readonly pages?: Readonly<Record<string, DebugPage>>;
  readonly streamedPages?: Readonly<Record<string, StreamedPage>>;
  /** Access rules for debug pages. Default: clients on this machine only. */
  readonly debugAccess?: DebugAccess;
  readonly log: Logger;
  /** Must be real time, not a virtual clock. */
  readonly clock: Clock;
  readonly limits?: Partial<ServeLimits>;
}

/** Limits that protect clients from each other. */
interface ServeLimits {
  /** The time from the connection to the end of the request. */
  readonly request: Milliseconds;
  /** The time from the request until the client has read the last byte. */
  readonly response: Milliseconds;
  /** How long a connection may be idle: longer than the scrape interval of Prometheus. */
  readonly idle: Milliseconds;
  readonly connections: number;
  /** How long `close` waits for responses in progress. */
  readonly close: Milliseconds;
}

const defaultLimits: ServeLimits = {
  request: milliseconds(5000),
  response: milliseconds(30_000),
  idle: milliseconds(75_000),
  connections: 128,
  close: milliseconds(5000),
};

export interface Served {
  /** The actual address: port 0 has been replaced by the real port. */
  readonly address: { readonly host: string; readonly port: number };
  readonly url: string;
  /** Accepts no further requests, waits for responses in progress up to the limit, and frees the port. */
  close(): Promise<void>;
}

/** Not an `import`: that would evaluate all of node:http, WebSocket included: 11 MiB that no program needs. */
const { createServer } = process.getBuiltinModule("node:http");

type Route = (query: URLSearchParams, request: IncomingMessage) => Reply | Promise<Reply>;

/** Serves a program's read-only pages: /metrics, /livez, /readyz and its debug pages. */
export async function serve(options: ServeOptions): Promise<Served> {
  const { log, clock, address, variable = "METRICS_ADDR" } = options;
  const limits = { ...defaultLimits, ...options.limits };
  let closing: Promise<void> | undefined;
  const routes = routesOf(options);

  const server = createServer(
    {
      requestTimeout: limits.request,
      keepAliveTimeout: limits.idle,
      connectionsCheckingInterval: limits.request / 2,
      maxHeaderSize: 16_384,
    },
    (request, response) => {
      connections.began(request);
      const late = clock.after(limits.response, () => response.destroy(), { background: true });
      response.once("close", () => {
        late.cancel();
        connections.ended(request, response.writableFinished && response.statusCode === 200);
        if (closing !== undefined) request.socket.end();
      });
      answer(routes, request, response, log).catch((error: unknown) => {
        log.error({ err: error, path: pathOf(request) }, "response aborted");
        response.destroy();
      });
    },
  );
  // Keeps room for the kubelet's probe, however many connections other clients open.
  const connections = new ConnectionLimiter(server, limits.connections, clock);
  await listen(server, address, variable);
  server.on("error", (error) => log.error({ err: error }, "the metrics and health server reported an error"));

  const bound = server.address() as AddressInfo;
  const closeAll = () => {
    log.warn("closed the connections of clients that did not read their responses in time");
    server.closeAllConnections();
  };
  return {
    address: { host: bound.address, port: bound.port },
    url: serverUrl("http", server),
    close: async () => (closing ??= closeServer(server, { clock, limit: limits.close, closeAll })),
  };
}

const LOCAL = new DebugAccess({ open: false });

/** Against DNS rebinding: only local clients reach a loopback address, and they name it, unless a web page sent a browser there. */
const isForMachine = ({ host }: Address, request: IncomingMessage): boolean =>
  host === undefined || !isLoopbackHost(host) || namesLoopback(request);

function routesOf(options: ServeOptions) {
  const { metrics, live = {}, ready = {}, pages = {}, streamedPages = {}, debugAccess = LOCAL } = options;
  const routes = new Map<string, Route>([
    [
      "/metrics",
      (_, request) =>
        isForMachine(options.address, request)
          ? { status: 200, type: metrics.contentType, body: metrics.text() }
          : textReply(403, "the Host header has to name localhost or a loopback address"),
    ],
    ["/livez", () => healthReply("live", live)],
    ["/readyz", () => healthReply("ready", ready)],
  ]);
  const debugPages = new Map<string, (query: URLSearchParams) => Reply | Promise<Reply>>();
  for (const [path, page] of Object.entries(pages)) debugPages.set(path, async (query) => pageReply(page, query));
  for (const [path, page] of Object.entries(streamedPages))
    debugPages.set(path, (query) => page(query) ?? nothingFound());
  for (const [path, page] of debugPages) {
    if (routes.has(path) || !/^\/[^\s?#]*$/.test(path))
      throw new RangeError(`invalid or duplicate page path ${JSON.stringify(path)}`);
    routes.set(path, async (query, request) => {
      const refusal = await debugAccess.refusal(request, path);
      if (refusal !== undefined) return textReply(refusal.status, refusal.message, refusal.headers);
      return page(query);
    });
  }
  return routes;
}

async function answer(
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
  log: Logger,
): Promise<void> {
  const path = pathOf(request);
  const route = routes.get(path);
  let reply: Reply;
  if (route === undefined) {
    reply = textReply(404, `page not found; available pages: ${[...routes.keys()].toSorted().join(", ")}`);
  } else if (request.method !== "GET" && request.method !== "HEAD") {
    // Close the connection: the server does not read a request body.
    reply = textReply(405, `${path} is read-only: use GET`, { allow: "GET, HEAD", connection: "close" });
  } else {
    try {
      reply = await route(new URLSearchParams((request.url ?? "").slice(path.length)), request);
    } catch (error) {
      log.error({ err: error, path }, "page failed");
      reply = textReply(500, "this page failed; see the program's log");
    }
  }
  await sendReply(reply, response, request.method !== "HEAD");
}

const pathOf = ({ url = "" }: IncomingMessage): string => url.split("?", 1)[0] ?? "";
