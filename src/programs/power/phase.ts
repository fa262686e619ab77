import type { NodePowerState, PowerEndpointStatus, PowerOutcome } from "../../core/api/index.ts";
import { type Instant, instant, isoTime } from "../../core/units/index.ts";

/**
 * Where a node is in the cycle of sleep and wake. It follows from the status of the PowerEndpoint alone, so that a restarted
 * program continues where the last one stopped. `tainted` covers a PowerEndpoint that lost its status: a node with the taint
 * counts as off until it has proven otherwise.
 */
export function phaseOf(status: PowerEndpointStatus | undefined, tainted: boolean): NodePowerState {
  const { operation, lastSleep, lastWake } = status ?? {};
  if (operation !== undefined) return operation.type === "sleep" ? "stopping" : "waking";
  const slept = lastSleep?.result === "succeeded" ? Date.parse(lastSleep.at) : Number.NEGATIVE_INFINITY;
  const woke = lastWake === undefined ? Number.NEGATIVE_INFINITY : Date.parse(lastWake.at);
  if (slept > woke) return "off";
  if (lastWake?.result === "failed") return "failed";
  return tainted ? "off" : "on";
}

/** When a sleep or wake ended: after the one before it, even if the clock was set back, because the phase follows from the order. */
export const endAfter = (before: PowerOutcome | undefined, now: Instant): string =>
  isoTime(instant(Math.max(now, (Date.parse(before?.at ?? "") || 0) + 1)));
