import type { TokenVerdict } from "../../../platform/kube/index.ts";
import { type DebugRequest, isLocalRequest, type TokenCheck } from "../../../platform/serve/index.ts";

/** The path that a token needs the verb `get` for. Every authenticated user may get `/api/*` of the API server. */
export const dashboardPath = "/joulie/dashboard";

export interface Denial {
  readonly status: 401 | 403 | 503;
  readonly message: string;
}

/** Decides who may read the dashboard: clients on this machine, and bearers of a token that the cluster allows to get the path. */
export class DashboardAccess {
  readonly #tokens: TokenCheck;

  constructor(tokens: TokenCheck) {
    this.#tokens = tokens;
  }

  async denial(request: DebugRequest): Promise<Denial | undefined> {
    if (isLocalRequest(request)) return undefined;
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    if (token === undefined)
      return { status: 401, message: "send a bearer token, or use kubectl port-forward and open localhost" };
    const verdict = await this.#tokens.check(token, dashboardPath);
    return verdict === "allowed" ? undefined : denials[verdict];
  }
}

const denials: Readonly<Record<Exclude<TokenVerdict, "allowed">, Denial>> = {
  unauthenticated: { status: 401, message: "the cluster rejected this token" },
  forbidden: {
    status: 403,
    message: `this token may not read the dashboard: its user needs a ClusterRole with nonResourceURLs ["${dashboardPath}"] and verbs ["get"]`,
  },
  unavailable: { status: 503, message: "the token cannot be checked now; see the dashboard's log" },
};
