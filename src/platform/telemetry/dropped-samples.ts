import type { Milliseconds } from "../../core/units/index.ts";
import type { TelemetryErrorKind } from "./errors.ts";

/** Why a sample, or a node's reading, was not used: the values of the metric's `reason`. */
export type DropReason =
  | TelemetryErrorKind
  | "nan"
  | "infinite"
  | "negative"
  | "stale"
  /** The source knows nothing of a node that was asked for. */
  | "missing"
  /** Part of the node's power is unknown: half of it is no measure of it. */
  | "incomplete"
  /** No node that was asked for goes by what the sample's labels say. */
  | "unmatched"
  /** Several nodes do. */
  | "ambiguous"
  /** Another sample of the same part was taken. */
  | "duplicate"
  /** It is contained in a sample that was taken, as a package contains its cores. */
  | "overlapping"
  /** Not asked: its endpoint failed a moment ago. */
  | "waiting"
  /** Not asked: the time for this round was over. Its turn comes first in the next. */
  | "deferred";

export class DropCounter {
  readonly counts = new Map<DropReason, number>();

  add(reason: DropReason, count = 1): void {
    if (count > 0) this.counts.set(reason, (this.counts.get(reason) ?? 0) + count);
  }
}

/** Older than this is stale where nobody says otherwise: how far Prometheus itself looks back. */
export const STALE_AFTER = 300_000 as Milliseconds;

export { isStale } from "../../core/units/index.ts";

/** What is wrong with a figure; undefined for a good one. */
export function invalidReason(value: number, sign: "any" | "not negative"): DropReason | undefined {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return "infinite";
  return value < 0 && sign === "not negative" ? "negative" : undefined;
}
