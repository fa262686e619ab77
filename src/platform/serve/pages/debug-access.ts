import type { IncomingHttpHeaders } from "node:http";
import { isLoopbackHost } from "../../http/index.ts";
import type { TokenVerdict } from "../../kube/index.ts";

/** Says whether the bearer of a token may get a path. */
export interface TokenCheck {
  check(token: string, path: string): Promise<TokenVerdict>;
}

export interface DebugAccessOptions {
  /** DEBUG_ENDPOINTS: debug pages are for everybody. */
  readonly open: boolean;
  readonly tokens?: TokenCheck | undefined;
}

/** As much of a request as counts here. */
export interface DebugRequest {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

export interface DebugRefusal {
  readonly status: 401 | 403 | 503;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Not all of 127.0.0.0/8: service meshes hand on what comes from outside under addresses such as 127.0.0.6. */
const OWN_PEERS = new Set(["127.0.0.1", "::1", "::ffff:127.0.0.1"]);
/** What a proxy adds to a request that somebody else has made. */
const FORWARDED = /^(?:forwarded|via|x-real-ip|x-forwarded-.*|x-envoy-.*)$/;

/**
 * Who may read debug pages, which name nodes and pods: whoever asks from this machine (`kubectl port-forward` arrives from
 * there), everybody where DEBUG_ENDPOINTS says so, else the bearer of a token that the cluster allows to get the path.
 */
export class DebugAccess {
  readonly #open: boolean;
  readonly #tokens: TokenCheck | undefined;

  constructor({ open, tokens }: DebugAccessOptions) {
    this.#open = open;
    this.#tokens = tokens;
  }

  /** Why a request for this path is not answered; undefined = it is. */
  async refusal(request: DebugRequest, path: string): Promise<DebugRefusal | undefined> {
    if (this.#open || isFromHere(request)) return undefined;
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
    message: "the cluster does not know this token",
    headers: { "www-authenticate": "Bearer" },
  }),
  unavailable: () => ({
    status: 503,
    message: "the token cannot be checked now; the program's log says why",
    headers: { "retry-after": "5" },
  }),
};

const howToRead = (path: string): string =>
  `${path} is served to this machine only: use kubectl port-forward, send a bearer token that may get ${path}, or set DEBUG_ENDPOINTS=true`;

/** A web page can have a browser on this machine ask here under the page's own name: such a request has that name as its host. */
function isFromHere({ headers, socket }: DebugRequest): boolean {
  if (!OWN_PEERS.has(socket.remoteAddress ?? "")) return false;
  if (Object.keys(headers).some((name) => FORWARDED.test(name))) return false;
  return isLoopbackHost((headers.host ?? "").replace(/:\d+$/, ""));
}
