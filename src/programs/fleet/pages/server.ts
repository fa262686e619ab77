import { createServer, type IncomingMessage } from "node:http";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { Address } from "../../../platform/config/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import { closeServer, listen, type Reply, sendReply, serverUrl } from "../../../platform/serve/index.ts";
import type { RedfishService } from "./redfish.ts";
import type { NodeRoutes } from "./routes.ts";

export interface NodeServerOptions {
  readonly address: Address;
  readonly routes: NodeRoutes;
  readonly redfish?: RedfishService | undefined;
  readonly log: Logger;
  /** Real time. */
  readonly clock: Clock;
}

export interface NodeServer {
  readonly url: string;
  close(): Promise<void>;
}

const LIMITS = {
  request: milliseconds(10_000),
  response: milliseconds(30_000),
  idle: milliseconds(75_000),
  close: milliseconds(1000),
  /** Enough for an agent of thousands of nodes, an operator, Prometheus and a few users. */
  connections: 1024,
  /** A query for hundreds of racks has about 20 kB; a command has one line. */
  bodyBytes: 1_048_576,
} as const;

export async function serveNodes(options: NodeServerOptions): Promise<NodeServer> {
  const { address, clock, log } = options;
  let closing: Promise<void> | undefined;
  const server = createServer(
    {
      requestTimeout: LIMITS.request,
      headersTimeout: LIMITS.request,
      keepAliveTimeout: LIMITS.idle,
      connectionsCheckingInterval: LIMITS.request / 2,
      maxHeaderSize: 16_384,
      noDelay: true,
    },
    (request, response) => {
      const late = clock.after(LIMITS.response, () => response.destroy(), { background: true });
      response.once("close", () => {
        late.cancel();
        if (closing !== undefined) request.socket.end();
      });
      answer(options, request)
        .then(async (reply) => sendReply(reply, response, request.method !== "HEAD"))
        .catch((err: unknown) => {
          if (!response.destroyed) log.error({ err, path: request.url }, "response aborted");
          response.destroy();
        });
    },
  );
  server.maxConnections = LIMITS.connections;
  server.on("drop", () => server.closeIdleConnections());
  await listen(server, address, "SIMULATOR_ADDR");
  server.on("error", (err) => log.error({ err }, "HTTP server error"));
  return {
    url: serverUrl("http", server),
    close: async () =>
      (closing ??= closeServer(server, {
        clock,
        limit: LIMITS.close,
        closeAll: () => server.closeAllConnections(),
      })),
  };
}

const NODE_PATH = /^\/(telemetry|control)\/([^/]+)$/;
const PAGES = "GET /telemetry/{node}, POST /control/{node}, /api/v1/query";

async function answer({ routes, redfish }: NodeServerOptions, request: IncomingMessage): Promise<Reply> {
  const { method = "", url = "", headers } = request;
  const [path = "", query = ""] = url.split("?", 2);
  const body = await bodyOf(request);
  if (body === undefined) return tooLarge;
  const isPost = method === "POST";
  const [, page, escaped = ""] = NODE_PATH.exec(path) ?? [];
  const node = unescaped(escaped);
  if (node === undefined) return refusal(400, `${path} is no path: its escapes cannot be read`);
  if (page === "control" && isPost) return routes.control(node, body);
  if (page === "telemetry" && !isPost) return routes.telemetry(node);
  if (redfish?.serves(path)) return redfish.answer({ method, path, authorization: headers.authorization, body });
  if (path === "/api/v1/query") return routes.query(new URLSearchParams(isPost ? body : query).get("query"));
  return refusal(404, `there is no such page here; there are ${PAGES}`);
}

const refusal = (status: number, error: string): Reply => ({
  status,
  type: "application/json",
  body: `${JSON.stringify({ error })}\n`,
  // Closes the connection, because an unread body may follow.
  headers: { connection: "close" },
});
const tooLarge = refusal(413, `the request is larger than ${LIMITS.bodyBytes} bytes`);

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Reads the body; undefined if it is too large. The refusal then closes the connection. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > LIMITS.bodyBytes) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
