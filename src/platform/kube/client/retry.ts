import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Backoff, backoffDelay } from "../../backoff/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { ApiError } from "./errors.ts";

const JITTER = 0.5;

/** The wait before attempt `failures + 1`; `failures` counts from 1. */
export const waitAfter = (failures: number, backoff: Backoff, random: RandomSource): Milliseconds =>
  backoffDelay(failures, { jitter: JITTER, ...backoff }, random);

/** As `waitAfter`, but never sooner than the server asked for, which is itself bounded: no server sends us away for a day. */
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

/** What the server asked for, 0 if nothing: a little later than that, and spread, since all who were sent away got the same number. */
export function waitAsked(error: unknown, longestAsked: Milliseconds, random: RandomSource): Milliseconds {
  const asked = error instanceof ApiError ? (error.retryAfter ?? 0) : 0;
  return milliseconds(asked > 0 ? Math.min(asked, longestAsked) * (1 + 0.1 * random.next()) : 0);
}

const TRANSIENT: ReadonlySet<ApiError["kind"]> = new Set(["network", "timeout", "unavailable", "internal", "garbled"]);

/**
 * Whether repeating a call may help and cannot harm. What has an effect each time it is done (a create) is repeated only
 * when the server surely did not do it; an answer that got lost says nothing about that.
 */
export function mayRepeat(error: unknown, idempotent: boolean): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  if (error.kind === "tooMany") return true;
  return TRANSIENT.has(error.kind) && (idempotent || error.notDone);
}
