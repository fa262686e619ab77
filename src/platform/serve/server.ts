import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import type { Address } from "../config/index.ts";
import type { Logger } from "../log/index.ts";
import { ConnectionLimiter } from "./connections/connection-limiter.ts";
import { closeServer, listen, serverUrl } from "./listen.ts";
import { DebugAccess } from "./pages/debug-access.ts";
import { type DebugPage, pageReply } from "./pages/debug-page.ts";
import { type HealthChecks, healthReply } from "./pages/health.ts";
import { type Reply, send, textReply } from "./reply.ts";

export interface ServeOptions {
  readonly address: Address;
  /** The variable that the address came from, for the error when it cannot be had. */
  readonly variable?: string;
  readonly metrics: { readonly contentType: string; text(): AsyncIterable<string> };
  /** What a restart would mend. */
  readonly live?: HealthChecks;
  /** What must hold for the program to do its work. */
  readonly ready?: HealthChecks;
  /** Debug pages by path, such as `/debug/plan`. */
  readonly pages?: Readonly<Record<string, DebugPage>>;
  /** Who may read them; unset, whoever asks from this machine. */
  readonly debugAccess?: DebugAccess;
  readonly log: Logger;
  /** Real time: clients do not wait for virtual one. */
  readonly clock: Clock;
  readonly limits?: Partial<ServeLimits>;
}

/** What one client can take from the others. */
export interface ServeLimits {
  /** From the connection to the end of the request. */
  readonly request: Milliseconds;
  /** From the request to the last byte that the client has taken. */
  readonly response: Milliseconds;
  /** How long a connection may wait for its next request: longer than Prometheus waits between two scrapes. */
  readonly idle: Milliseconds;
  readonly connections: number;
  /** How long `close` waits for answers under way. */
  readonly close: Milliseconds;
}

const usualLimits: ServeLimits = {
  request: milliseconds(5000),
  response: milliseconds(30_000),
  idle: milliseconds(75_000),
  connections: 128,
  close: milliseconds(5000),
};

export interface Served {
  /** Where it listens indeed: port 0 has become a real one. */
  readonly address: { readonly host: string; readonly port: number };
  /** How to reach it from this machine. */
  readonly url: string;
  /** Takes no more requests, finishes those under way for as long as the limit says, and frees the port. */
  close(): Promise<void>;
}

/**
 * Not by `import`: that asks a module for all that it exports, and node:http exports the WebSocket of Node's own fetch, which
 * brings fetch and HTTP/2 along, 11 MiB that no program of ours has a use for.
 */
const { createServer } = process.getBuiltinModule("node:http");

type Route = (query: URLSearchParams, request: IncomingMessage) => Reply | Promise<Reply>;

/** A program's own pages: /metrics, /livez, /readyz and what it shows to people who look for a fault. They only tell; nothing here changes anything. */
export async function serve(options: ServeOptions): Promise<Served> {
  const { log, clock, address, variable = "METRICS_ADDR" } = options;
  const limits = { ...usualLimits, ...options.limits };
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
        log.error({ err: error, path: pathOf(request) }, "an answer broke off");
        response.destroy();
      });
    },
  );
  // Whatever others open, the kubelet's probe finds room.
  const connections = new ConnectionLimiter(server, limits.connections, clock);
  await listen(server, address, variable);
  server.on("error", (error) => log.error({ err: error }, "the server for metrics and health has a problem"));

  const bound = server.address() as AddressInfo;
  const closeAll = () => {
    log.warn("clients had not taken their answers in time; their connections were closed");
    server.closeAllConnections();
  };
  return {
    address: { host: bound.address, port: bound.port },
    url: serverUrl("http", server),
    close: async () => (closing ??= closeServer(server, { clock, limit: limits.close, closeAll })),
  };
}

const LOCAL = new DebugAccess({ open: false });

function routesOf({ metrics, live = {}, ready = {}, pages = {}, debugAccess = LOCAL }: ServeOptions) {
  const routes = new Map<string, Route>([
    ["/metrics", () => ({ status: 200, type: metrics.contentType, body: metrics.text() })],
    ["/livez", () => healthReply("live", live)],
    ["/readyz", () => healthReply("ready", ready)],
  ]);
  for (const [path, page] of Object.entries(pages)) {
    if (routes.has(path) || !/^\/[^\s?#]*$/.test(path))
      throw new RangeError(`a page cannot be at ${JSON.stringify(path)}`);
    routes.set(path, async (query, request) => {
      const refusal = await debugAccess.refusal(request, path);
      if (refusal !== undefined) return textReply(refusal.status, refusal.message, refusal.headers);
      return pageReply(page, query);
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
    reply = textReply(404, `there is no such page here; there are ${[...routes.keys()].toSorted().join(", ")}`);
  } else if (request.method !== "GET" && request.method !== "HEAD") {
    // A body may follow, which nobody will read.
    reply = textReply(405, `${path} can only be read: use GET`, { allow: "GET, HEAD", connection: "close" });
  } else {
    try {
      reply = await route(new URLSearchParams((request.url ?? "").slice(path.length)), request);
    } catch (error) {
      log.error({ err: error, path }, "a page failed");
      reply = textReply(500, "this page failed; the program's log says why");
    }
  }
  await send(reply, response, request.method !== "HEAD");
}

const pathOf = ({ url = "" }: IncomingMessage): string => url.split("?", 1)[0] ?? "";
