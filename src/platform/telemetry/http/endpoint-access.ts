import { BlockList, isIPv4, isIPv6 } from "node:net";
import { type EndpointRange, NODE_PLACEHOLDER, originOf } from "../../config/index.ts";
import { isLoopbackHost } from "../../http/index.ts";

export interface EndpointAccessOptions {
  /** URLs of the endpoint variables; `{node}` may stand in them. They may always be called. */
  readonly variables: readonly (string | undefined)[];
  /** What TELEMETRY_ALLOWED_ENDPOINTS says. */
  readonly allowed: readonly EndpointRange[];
  /** Whether there is a token at all. */
  readonly hasToken: boolean;
  /** TELEMETRY_ALLOW_INSECURE_TOKEN: the token may go unencrypted over http://. */
  readonly insecureToken: boolean;
}

/** Whether an endpoint may be called, and whether the token goes along. */
export interface EndpointPermission {
  /** Why it may not be called. */
  readonly refused?: string;
  readonly token: boolean;
}

/**
 * Which endpoints an agent calls. Who may write a TelemetryProfile chooses endpoints, and must neither reach what only the agent
 * can reach nor be sent its token. The token goes to origins that variables name, and to nothing that only a CIDR or `loopback`
 * allows. No name is looked up, so a CIDR allows IP addresses as they stand in a URL, and never a name.
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

  /** `url` is complete: `{node}` in it was replaced by this node's name. */
  of(url: URL, node: string): EndpointPermission {
    const { origin, protocol, hostname } = url;
    if (this.#origins.some((one) => isOriginOf(one, origin, node))) {
      const inClear = this.#hasToken && protocol === "http:" && !isLoopbackHost(hostname);
      if (!inClear || this.#insecureToken) return { token: this.#hasToken };
      return {
        token: false,
        refused: `${origin} would get the token unencrypted: use https, or set TELEMETRY_ALLOW_INSECURE_TOKEN to true`,
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

/** The node's own name only: `https://{node}:8443` allows no node to be called in the name of another. */
function isOriginOf(template: string, origin: string, node: string): boolean {
  if (!template.includes(NODE_PLACEHOLDER)) return template === origin;
  return URL.parse(template.replaceAll(NODE_PLACEHOLDER, () => encodeURIComponent(node)))?.origin === origin;
}
