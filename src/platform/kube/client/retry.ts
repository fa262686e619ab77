import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Backoff, backoffDelay } from "../../backoff/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { ApiError } from "./errors.ts";

const JITTER = 0.5;

/** The delay before attempt `failures + 1`; `failures` starts at 1. */
export const waitAfter = (failures: number, backoff: Backoff, random: RandomSource): Milliseconds =>
  backoffDelay(failures, { jitter: JITTER, ...backoff }, random);

/** Like `waitAfter`, but at least the server's Retry-After, which `longestAsked` limits. */
export function waitAfterError(
  error: unknown,
  failures: number,
  backoff: Backoff,
  longestAsked: Milliseconds,
  random: RandomSource,
): Milliseconds {
  const own = waitAfter(failures, backoff, random);
  return milliseconds(Math.max(own, waitAsked(error, longestAsked, random)));
}

/** The server's Retry-After, 0 if absent. Jitter is added because all rejected clients got the same value. */
export function waitAsked(error: unknown, longestAsked: Milliseconds, random: RandomSource): Milliseconds {
  const asked = error instanceof ApiError ? (error.retryAfter ?? 0) : 0;
  return milliseconds(asked > 0 ? Math.min(asked, longestAsked) * (1 + 0.1 * random.next()) : 0);
}

const TRANSIENT: ReadonlySet<ApiError["kind"]> = new Set(["network", "timeout", "unavailable", "internal", "garbled"]);

/**
 * Whether a retry may help and is safe. A call that is not idempotent (a create) is retried only if the server certainly did
 * not execute it; a lost response does not prove that.
 */
export function mayRepeat(error: unknown, idempotent: boolean): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  if (error.kind === "tooMany") return true;
  return TRANSIENT.has(error.kind) && (idempotent || error.notDone);
}
