import { type Instant, isStale, milliseconds } from "../../core/units/index.ts";
import type { TelemetryErrorKind } from "./errors.ts";

/** Why a sample, or a node's reading, was not used. Also the values of the metric label `reason`. */
export type DropReason =
  | TelemetryErrorKind
  | "nan"
  | "infinite"
  | "negative"
  | "stale"
  /** The source has no data about a requested node. */
  | "missing"
  /** Part of the node's power is unknown, so its total is unknown. */
  | "incomplete"
  /** The sample's labels match no requested node. */
  | "unmatched"
  /** The sample's labels match several nodes. */
  | "ambiguous"
  /** Another sample of the same part was used. */
  | "duplicate"
  /** The sample is included in another one, as cores are included in their package. */
  | "overlapping"
  /** Not polled: the endpoint failed recently. */
  | "waiting"
  /** Not polled: the time budget of this poll was used up. The next poll starts with it. */
  | "deferred";

export class DropCounter {
  readonly counts = new Map<DropReason, number>();

  add(reason: DropReason, count = 1): void {
    if (count > 0) this.counts.set(reason, (this.counts.get(reason) ?? 0) + count);
  }
}

/** The age at which a sample is stale: the look-back of Prometheus. */
export const STALE_AFTER = milliseconds(300_000);

export const isStaleSample = (at: Instant, now: Instant): boolean => isStale(at, now, STALE_AFTER);

/** Why a sample is not used; undefined if it is. */
export const faultOf = (
  { value, at }: { readonly value: number; readonly at: Instant },
  now: Instant,
  sign: "any" | "not negative" = "not negative",
): DropReason | undefined => invalidReason(value, sign) ?? (isStaleSample(at, now) ? "stale" : undefined);

/** Why a value is invalid; undefined if it is valid. */
export function invalidReason(value: number, sign: "any" | "not negative" = "not negative"): DropReason | undefined {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return "infinite";
  return value < 0 && sign === "not negative" ? "negative" : undefined;
}
