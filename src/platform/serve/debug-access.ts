import type { IncomingHttpHeaders } from "node:http";
import { isLoopbackHost } from "../http/index.ts";
import type { TokenVerdict } from "../kube/index.ts";
import { redactText } from "../log/index.ts";
import { type Reply, textReply } from "./reply.ts";

export interface TokenCheck {
  check(token: string, path: string): Promise<TokenVerdict>;
}

export interface DebugAccessOptions {
  /** DEBUG_ENDPOINTS: debug pages are open to every client. */
  readonly open: boolean;
  readonly tokens?: TokenCheck;
}

export interface DebugRequest {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

export interface DebugRefusal {
  readonly status: 401 | 403 | 503;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Not all of 127.0.0.0/8: service meshes forward external traffic from addresses such as 127.0.0.6. */
const LOCAL_PEERS = new Set(["127.0.0.1", "::1", "::ffff:127.0.0.1"]);
/** Headers that a proxy adds to a forwarded request. */
const FORWARDED = /^(?:forwarded|via|x-real-ip|x-forwarded-.*|x-envoy-.*)$/;

/**
 * Decides who may read debug pages, which name nodes and pods: clients on this machine (including `kubectl port-forward`), every
 * client if DEBUG_ENDPOINTS is set, and bearers of a token that the cluster allows to get the path.
 */
export class DebugAccess {
  readonly #open: boolean;
  readonly #tokens: TokenCheck | undefined;

  constructor({ open, tokens }: DebugAccessOptions) {
    this.#open = open;
    this.#tokens = tokens;
  }

  /** Why the request for this path is refused; undefined if it is allowed. */
  async refusal(request: DebugRequest, path: string): Promise<DebugRefusal | undefined> {
    if (this.#open || isLocalRequest(request)) return undefined;
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    if (token === undefined || this.#tokens === undefined)
      return { status: 403, message: howToRead(path), headers: {} };
    const verdict = await this.#tokens.check(token, path);
    return verdict === "allowed" ? undefined : refusals[verdict](path);
  }
}

const refusals: Readonly<Record<Exclude<TokenVerdict, "allowed">, (path: string) => DebugRefusal>> = {
  forbidden: (path) => ({
    status: 403,
    message: `this token may not get ${path}: its user needs a ClusterRole with nonResourceURLs ["${path}"] and verbs ["get"]`,
    headers: {},
  }),
  unauthenticated: () => ({
    status: 401,
    message: "the cluster rejected this token",
    headers: { "www-authenticate": "Bearer" },
  }),
  unavailable: () => ({
    status: 503,
    message: "the token cannot be checked now; see the program's log",
    headers: { "retry-after": "5" },
  }),
};

const howToRead = (path: string): string =>
  `${path} is only served to clients on this machine: use kubectl port-forward, send a bearer token that may get ${path}, or set DEBUG_ENDPOINTS=true`;

/** Checks the Host header, too: a web page can make a local browser send requests here under the page's own host name. */
export function isLocalRequest({ headers, socket }: DebugRequest): boolean {
  if (!LOCAL_PEERS.has(socket.remoteAddress ?? "")) return false;
  if (Object.keys(headers).some((name) => FORWARDED.test(name))) return false;
  return namesLoopback({ headers });
}

export const namesLoopback = ({ headers }: Pick<DebugRequest, "headers">): boolean =>
  isLoopbackHost((headers.host ?? "").replace(/:\d+$/, ""));

/** Returns the content of a debug page as a JSON value; undefined if there is nothing for this query. */
export type DebugPage = (query: URLSearchParams) => unknown;

/** Produces a debug page itself, for example as a stream; undefined if there is nothing for this query. */
export type StreamedPage = (query: URLSearchParams) => Reply | undefined;

/** JSON on one line, or indented with `?pretty`. */
export async function pageReply(page: DebugPage, query: URLSearchParams): Promise<Reply> {
  const value = await page(query);
  const json: string | undefined = JSON.stringify(value, undefined, query.has("pretty") ? 2 : undefined);
  if (json === undefined) return nothingFound();
  // Pages contain the same data as the log, so they get the same redaction.
  return { status: 200, type: "application/json", body: `${redactText(json)}\n` };
}

export const nothingFound = (): Reply => textReply(404, "nothing found for this query");
