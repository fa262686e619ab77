import { EndpointList, type EndpointRange, originOf } from "../../config/index.ts";
import { sendsInTheClear } from "../../http/index.ts";

export interface EndpointAccessOptions {
  /** URLs of the endpoint variables, which may contain `{node}`. These endpoints are always allowed. */
  readonly variables: readonly (string | undefined)[];
  /** The value of TELEMETRY_ALLOWED_ENDPOINTS. */
  readonly allowed: readonly EndpointRange[];
  readonly hasToken: boolean;
  /** ALLOW_INSECURE_TOKEN: the token may be sent unencrypted over http://. */
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
 * a CIDR or `loopback`.
 */
export class EndpointAccess {
  readonly #endpoints: EndpointList;
  readonly #hasToken: boolean;
  readonly #insecureToken: boolean;

  constructor({ variables, allowed, hasToken, insecureToken }: EndpointAccessOptions) {
    const origins = variables.flatMap((url) => (url === undefined ? [] : (originOf(url) ?? [])));
    this.#endpoints = new EndpointList([
      ...origins.map((origin): EndpointRange => ({ kind: "origin", origin })),
      ...allowed,
    ]);
    this.#hasToken = hasToken;
    this.#insecureToken = insecureToken;
  }

  /** `url` is complete: `{node}` has been replaced by this node's name. */
  of(url: URL, node: string): EndpointPermission {
    const { origin } = url;
    if (this.#endpoints.hasOrigin(url, node)) {
      const inClear = this.#hasToken && sendsInTheClear(url);
      if (!inClear || this.#insecureToken) return { token: this.#hasToken };
      return {
        token: false,
        refused: `${origin} would receive the token unencrypted: use https, or set ALLOW_INSECURE_TOKEN to true`,
      };
    }
    if (this.#endpoints.hasHost(url)) return { token: false };
    return { token: false, refused: `${origin} is not an allowed endpoint: add it to TELEMETRY_ALLOWED_ENDPOINTS` };
  }
}
