import type { NodePowerState, PowerEndpointStatus } from "../../core/api/index.ts";

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
