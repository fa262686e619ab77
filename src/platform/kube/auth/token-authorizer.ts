import { createHash } from "node:crypto";
import type { ErrorCode } from "../../../core/api/index.ts";
import { elapsed, type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { Logger } from "../../log/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { KubeClient } from "../client/client.ts";
import { isApiError } from "../client/errors.ts";
import { isRecord } from "../client/object.ts";
import { resources } from "../client/resources.ts";
import type { Transport } from "../client/transport.ts";

export interface TokenAuthorizerOptions {
  readonly transport: Transport;
  /** The system clock, even when the program runs on virtual time. */
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  readonly userAgent: string;
}

/** The RBAC rules that it needs: they allow reviewing tokens and access, not impersonation. */
export const tokenReviewRules = [
  { apiGroups: [resources.tokenReviews.group], resources: ["tokenreviews"], verbs: ["create"] },
  { apiGroups: [resources.subjectAccessReviews.group], resources: ["subjectaccessreviews"], verbs: ["create"] },
] as const;

/** `unavailable`: the API server is unreachable, the rate limit is exceeded, or RBAC forbids token reviews. */
export type TokenVerdict = "allowed" | "forbidden" | "unauthenticated" | "unavailable";

/**
 * The audience of tokens that are for Joulie's pages alone, as in `kubectl create token NAME --audience joulie.io`. The API server
 * does not accept them, so that one that is intercepted opens nothing else.
 */
const PAGES_AUDIENCE = "joulie.io";

const DEBUG_TOKENS: ErrorCode = "JOULIE_E_DEBUG_TOKENS";

interface Remembered {
  readonly verdict: TokenVerdict;
  readonly at: MonotonicInstant;
}

/** How long a revoked token or a removed role still grants access. */
const REMEMBERED = milliseconds(60_000);
/** Shorter, so that a new role takes effect soon. */
const REFUSAL_REMEMBERED = milliseconds(10_000);
const MAX_REMEMBERED = 256;
/** Limits reviews, so that clients with invalid tokens neither load the API server nor delay the program's own calls. */
const LIMIT = { perSecond: 10, burst: 20, queue: 8 };
const MAX_CONCURRENT = 4;
const CALL = { timeout: milliseconds(5000), retries: 0 } as const;
const TOKEN = /^[\w.~+/-]{1,8192}=*$/;

/**
 * Decides whether the bearer of a token may read a path: TokenReview authenticates the token, and SubjectAccessReview checks
 * that RBAC allows the user to `get` the path (a nonResourceURL). Tokens are cached as hashes and never logged.
 */
export class TokenAuthorizer {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #remembered = new Map<string, Remembered>();
  readonly #underWay = new Map<string, Promise<TokenVerdict>>();
  #failing: string | undefined;

  constructor({ transport, clock, random, log, userAgent }: TokenAuthorizerOptions) {
    this.#client = new KubeClient({ transport, clock, random, fieldManager: userAgent, userAgent, limit: LIMIT });
    this.#clock = clock;
    this.#log = log;
  }

  /** Never rejects. */
  async check(token: string, path: string): Promise<TokenVerdict> {
    if (!TOKEN.test(token)) return "unauthenticated";
    const key = createHash("sha256").update(`${token} ${path}`).digest("base64");
    const known = this.#remembered.get(key);
    if (known !== undefined && elapsed(known.at, this.#clock.monotonic()) < lifeOf(known.verdict)) return known.verdict;
    const running = this.#underWay.get(key);
    if (running !== undefined) return running;
    if (this.#underWay.size >= MAX_CONCURRENT) return "unavailable";
    const review = this.#review(token, path, key).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, review);
    return review;
  }

  async #review(token: string, path: string, key: string): Promise<TokenVerdict> {
    try {
      const user = await this.#userOf(token);
      const verdict = user === undefined ? "unauthenticated" : await this.#accessOf(user, path);
      this.#remember(key, verdict);
      this.#failing = undefined;
      return verdict;
    } catch (error) {
      // Does not log the error itself: some API servers quote the request body.
      const reason = isApiError(error) ? error.kind : "unexpected";
      if (this.#failing !== reason)
        this.#log.warn({ code: DEBUG_TOKENS, reason }, "cannot review bearer tokens; pages that need one stay closed");
      this.#failing = reason;
      return "unavailable";
    }
  }

  async #userOf(token: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const isForPages = audiencesIn(token).includes(PAGES_AUDIENCE);
    const review = { metadata: {}, spec: { token, ...(isForPages && { audiences: [PAGES_AUDIENCE] }) } };
    const { status } = await this.#client.create<Reviewed>(resources.tokenReviews, review, CALL);
    const { authenticated, audiences } = status ?? {};
    // An API server that does not know audiences returns none, and has not checked them.
    const isChecked = !isForPages || (Array.isArray(audiences) && audiences.includes(PAGES_AUDIENCE));
    const user = authenticated === true && isChecked ? status?.["user"] : undefined;
    return isRecord(user) && typeof user["username"] === "string" && user["username"] !== "" ? user : undefined;
  }

  async #accessOf(user: Readonly<Record<string, unknown>>, path: string): Promise<TokenVerdict> {
    const { username, uid, groups, extra } = user;
    const nonResourceAttributes = { path, verb: "get" };
    const review = { metadata: {}, spec: { user: username, uid, groups, extra, nonResourceAttributes } };
    const { status } = await this.#client.create<Reviewed>(resources.subjectAccessReviews, review, CALL);
    return status?.["allowed"] === true && status["denied"] !== true ? "allowed" : "forbidden";
  }

  #remember(key: string, verdict: TokenVerdict): void {
    this.#remembered.delete(key);
    this.#remembered.set(key, { verdict, at: this.#clock.monotonic() });
    if (this.#remembered.size <= MAX_REMEMBERED) return;
    const [oldest] = this.#remembered.keys();
    if (oldest !== undefined) this.#remembered.delete(oldest);
  }
}

/** What a token says about itself; only the API server's review decides. */
function audiencesIn(token: string): readonly unknown[] {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    return isRecord(claims) ? [claims["aud"]].flat() : [];
  } catch {
    return [];
  }
}

interface Reviewed {
  readonly metadata: { readonly name: string };
  readonly status?: Readonly<Record<string, unknown>>;
}

const lifeOf = (verdict: TokenVerdict): Milliseconds => (verdict === "allowed" ? REMEMBERED : REFUSAL_REMEMBERED);
