import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { Address } from "../../../platform/config/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import { ConnectionLimiter, closeServer, listen, serverUrl } from "../../../platform/serve/index.ts";
import type { LiveClient, LiveFeed } from "../live/live-feed.ts";
import type { DashboardAccess } from "./access.ts";
import { type Asset, noAssets } from "./assets.ts";

export interface DashboardServerOptions {
  readonly address: Address;
  readonly assets: ReadonlyMap<string, Asset>;
  readonly access: DashboardAccess;
  readonly feed: LiveFeed;
  readonly pages: Readonly<Record<string, DataPage>>;
  readonly log: Logger;
  /** Real time. */
  readonly clock: Clock;
}

interface DataRequest {
  readonly query: URLSearchParams;
  readonly rest: string;
}

export type DataPage = (request: DataRequest) => Promise<string | undefined> | string | undefined;

/** A request that cannot be answered as it is; the message goes to the client. */
export class BadRequestError extends Error {}

export interface DashboardServer {
  readonly url: string;
  close(): Promise<void>;
}

const headers: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

const REQUEST = milliseconds(5000);
const RESPONSE = milliseconds(30_000);
const CLOSE = milliseconds(1000);
/** A stream of a client whose token was revoked ends after this time. */
const RECHECK = milliseconds(60_000);
const SPARE_CONNECTIONS = 128;
const WORTH_COMPRESSING = 1024;

/** Not an `import`: that would load Node's fetch as well; see platform/serve. */
const { createServer } = process.getBuiltinModule("node:http");
const compress = promisify(gzip);

/** Serves the page, its data and the stream of changes. Read-only: GET and HEAD. */
export async function serveDashboard(options: DashboardServerOptions, clients: number): Promise<DashboardServer> {
  const { address, log, clock, feed } = options;
  const server = createServer(
    { requestTimeout: REQUEST, connectionsCheckingInterval: REQUEST / 2, maxHeaderSize: 16_384 },
    (request, response) => {
      connections.began(request);
      response.once("close", () => connections.ended(request, response.statusCode === 200));
      answer(options, request, response).catch((error: unknown) => {
        log.error({ err: error, path: request.url?.split("?", 1)[0] }, "response aborted");
        response.destroy();
      });
    },
  );
  const connections = new ConnectionLimiter(server, clients + SPARE_CONNECTIONS, clock);
  await listen(server, address, "DASHBOARD_ADDR");
  server.on("error", (error) => log.error({ err: error }, "the dashboard's server reported an error"));
  let closing: Promise<void> | undefined;
  return {
    url: serverUrl("http", server),
    close: async () => {
      feed.close();
      server.closeIdleConnections();
      return (closing ??= closeServer(server, { clock, limit: CLOSE, closeAll: () => server.closeAllConnections() }));
    },
  };
}

async function answer(
  options: DashboardServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { assets, access, pages, clock } = options;
  const [path = "", search = ""] = (request.url ?? "").split("?", 2);
  if (request.method !== "GET" && request.method !== "HEAD") {
    // Close the connection: the server does not read a request body.
    sendError(response, 405, "the dashboard is read-only: use GET", { allow: "GET, HEAD", connection: "close" });
    return;
  }
  if (!path.startsWith("/api/")) {
    const asset = assets.get(path);
    if (asset !== undefined) sendAsset(request, response, asset);
    else if (path === "/" && assets.size === 0) sendError(response, 503, noAssets);
    else sendError(response, 404, "page not found");
    return;
  }
  const denial = await access.denial(request);
  // The client left during the check: a stream would wait for a close that has been, and keep its place for ever.
  if (response.closed) return;
  if (denial !== undefined) {
    sendError(response, denial.status, denial.message, denial.status === 401 ? { "www-authenticate": "Bearer" } : {});
    return;
  }
  if (path === "/api/events") {
    stream(options, request, response, new URLSearchParams(search).get("last") ?? "");
    return;
  }
  const late = clock.after(RESPONSE, () => response.destroy(), { background: true });
  response.once("close", () => late.cancel());
  await sendPage(options, pages, path, search, request, response);
}

async function sendPage(
  { log }: DashboardServerOptions,
  pages: DashboardServerOptions["pages"],
  path: string,
  search: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const name = Object.keys(pages).find((one) => (one.endsWith("/") ? path.startsWith(one) : path === one));
  const page = name === undefined ? undefined : pages[name];
  try {
    const rest = name === undefined ? "" : decodeURIComponent(path.slice(name.length));
    const text = await page?.({ query: new URLSearchParams(search), rest });
    if (text === undefined) sendError(response, 404, "nothing found");
    else await sendText(request, response, text);
  } catch (error) {
    if (error instanceof BadRequestError || error instanceof URIError) sendError(response, 400, error.message);
    else {
      log.error({ err: error, path }, "page failed");
      sendError(response, 500, "this page failed; see the dashboard's log");
    }
  }
}

function stream(
  { feed, access, clock }: DashboardServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  last: string,
): void {
  if (request.method === "HEAD" || feed.isFull) {
    sendError(response, 503, "too many pages are open; close one", { "retry-after": "10" });
    return;
  }
  response.writeHead(200, {
    ...headers,
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  const client: LiveClient = {
    write: (text) => void response.write(text),
    get unread() {
      return response.writableLength;
    },
    end: () => void response.end(),
    drop: () => void response.destroy(),
  };
  const recheck = () => {
    timer = clock.after(
      RECHECK,
      () => {
        // A denial ends the stream; the page then asks again and shows the reason.
        void access.denial(request).then((denial) => {
          if (denial !== undefined) response.end();
          // The client may have left during the check.
          else if (!response.closed) recheck();
        });
      },
      { background: true },
    );
  };
  let timer = { cancel: () => {} };
  recheck();
  response.once("close", () => {
    timer.cancel();
    feed.leave(client);
  });
  const given = request.headers["last-event-id"];
  feed.join(client, typeof given === "string" ? given : last);
}

const acceptsGzip = (request: IncomingMessage): boolean => /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");

function sendAsset(request: IncomingMessage, response: ServerResponse, asset: Asset): void {
  const zipped = acceptsGzip(request);
  const body = zipped ? asset.gzipped : asset.body;
  response.writeHead(200, {
    ...headers,
    "content-type": asset.type,
    "content-length": body.length,
    "cache-control": asset.isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    vary: "accept-encoding",
    ...(zipped && { "content-encoding": "gzip" }),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

async function sendText(request: IncomingMessage, response: ServerResponse, text: string): Promise<void> {
  const zipped = text.length > WORTH_COMPRESSING && acceptsGzip(request);
  const body = zipped ? await compress(text, { level: 1 }) : Buffer.from(text);
  response.writeHead(200, {
    ...headers,
    "content-type": "application/json",
    "content-length": body.length,
    "cache-control": "no-store",
    ...(zipped && { "content-encoding": "gzip" }),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

function sendError(
  response: ServerResponse,
  status: number,
  message: string,
  more: Readonly<Record<string, string>> = {},
): void {
  const body = `${JSON.stringify({ error: message })}\n`;
  response.writeHead(status, {
    ...headers,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    ...more,
  });
  response.end(body);
}

export function numberParameter(query: URLSearchParams, name: string, otherwise: number, limit: number): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!(value >= 0 && value <= limit)) throw new BadRequestError(`${name} is a number from 0 to ${limit}`);
  return value;
}
