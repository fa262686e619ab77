import { BlockList, isIPv4, isIPv6 } from "node:net";
import { type EndpointRange, NODE_PLACEHOLDER, originOf } from "../../config/index.ts";
import { isLoopbackHost } from "../../http/index.ts";

export interface EndpointAccessOptions {
  /** URLs of the endpoint variables, which may contain `{node}`. These endpoints are always allowed. */
  readonly variables: readonly (string | undefined)[];
  /** The value of TELEMETRY_ALLOWED_ENDPOINTS. */
  readonly allowed: readonly EndpointRange[];
  /** Whether a token is configured. */
  readonly hasToken: boolean;
  /** TELEMETRY_ALLOW_INSECURE_TOKEN: the token may be sent unencrypted over http://. */
  readonly insecureToken: boolean;
}

/** Whether an endpoint may be called, and whether the call carries the token. */
export interface EndpointPermission {
  /** Why the endpoint may not be called. */
  readonly refused?: string;
  readonly token: boolean;
}

/**
 * Decides which endpoints the agent calls. Users who can write a TelemetryProfile choose endpoints, but must not reach services that
 * only the agent can reach, nor receive its token. The token is sent only to origins named in variables, not to endpoints allowed by
 * a CIDR or `loopback`. Host names are not resolved, so a CIDR allows IP addresses in URLs and never a host name.
 */
export class EndpointAccess {
  readonly #origins: readonly string[];
  readonly #networks = new BlockList();
  readonly #loopback: boolean;
  readonly #hasToken: boolean;
  readonly #insecureToken: boolean;

  constructor({ variables, allowed, hasToken, insecureToken }: EndpointAccessOptions) {
    const named = variables.flatMap((url) => (url === undefined ? [] : (originOf(url) ?? [])));
    const listed = allowed.flatMap((range) => (range.kind === "origin" ? range.origin : []));
    this.#origins = [...new Set([...named, ...listed])];
    for (const range of allowed)
      if (range.kind === "network") this.#networks.addSubnet(range.address, range.prefix, range.family);
    this.#loopback = allowed.some(({ kind }) => kind === "loopback");
    this.#hasToken = hasToken;
    this.#insecureToken = insecureToken;
  }

  /** `url` is complete: `{node}` has been replaced by this node's name. */
  of(url: URL, node: string): EndpointPermission {
    const { origin, protocol, hostname } = url;
    if (this.#origins.some((one) => isOriginOf(one, origin, node))) {
      const inClear = this.#hasToken && protocol === "http:" && !isLoopbackHost(hostname);
      if (!inClear || this.#insecureToken) return { token: this.#hasToken };
      return {
        token: false,
        refused: `${origin} would receive the token unencrypted: use https, or set TELEMETRY_ALLOW_INSECURE_TOKEN to true`,
      };
    }
    if (this.#isInNetwork(hostname) || (this.#loopback && isLoopbackHost(hostname))) return { token: false };
    return { token: false, refused: `${origin} is not an allowed endpoint: add it to TELEMETRY_ALLOWED_ENDPOINTS` };
  }

  #isInNetwork(hostname: string): boolean {
    const address = hostname.replace(/^\[(.*)\]$/, "$1");
    if (isIPv4(address)) return this.#networks.check(address, "ipv4");
    return isIPv6(address) && this.#networks.check(address, "ipv6");
  }
}

/** `{node}` stands for this node's name only: `https://{node}:8443` does not allow calls to other nodes. */
function isOriginOf(template: string, origin: string, node: string): boolean {
  if (!template.includes(NODE_PLACEHOLDER)) return template === origin;
  return URL.parse(template.replaceAll(NODE_PLACEHOLDER, () => encodeURIComponent(node)))?.origin === origin;
}
