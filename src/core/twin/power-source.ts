import type { NodeTwinStatus, PowerSource, TwinControlReport } from "../api/index.ts";
import { type Instant, instant, isNonNegative, milliseconds, type Watts, watts } from "../units/index.ts";
import { isBeyondClockSkew } from "./trend.ts";

export interface PowerReading {
  /** Packages and boards together. */
  readonly power: Watts;
  readonly source: PowerSource;
  readonly at: Instant;
  /** Part of `power`: the boards, estimated because the source does not read them. */
  readonly estimatedGpus?: Watts;
  /** Power of the whole server, read by a meter. */
  readonly server?: Watts;
}

/** OPERATOR_NODE_POWER_SOURCE. */
export const powerSourceModes = ["auto", "static", "utilization", "http", "prometheus"] as const;
export type PowerSourceMode = (typeof powerSourceModes)[number];

/** The power readings of a node in this tick, by source. */
export interface PowerReadings {
  readonly agent?: PowerReading | undefined;
  /** From the configured HTTP endpoint or Prometheus, where Kepler's series are. */
  readonly external?: PowerReading | undefined;
  readonly utilization?: PowerReading | undefined;
  readonly static?: PowerReading | undefined;
}

/** An explicitly configured source is never replaced: without its reading the node is not measured. */
const preference: Readonly<Record<PowerSourceMode, readonly (keyof PowerReadings)[]>> = {
  auto: ["agent", "external", "utilization", "static"],
  static: ["static"],
  utilization: ["utilization"],
  http: ["external"],
  prometheus: ["external"],
};

export function choosePowerReading(mode: PowerSourceMode, readings: PowerReadings): PowerReading | undefined {
  for (const way of preference[mode]) {
    const reading = readings[way];
    if (isNonNegative(reading?.power)) return reading;
  }
  return undefined;
}

/** The longest interval between two power reports of an agent, see docs/design/0014-heartbeats-at-rest.md. */
export const agentHeartbeat = milliseconds(190_000);

/** How long the operator uses an agent's reading. With a longer agent interval the node is not measured in between. */
export const agentReadingFreshFor = milliseconds(300_000);

/**
 * The power that the agent last reported for the node: CPUs and GPUs together, as old as the older of the two. If the agent
 * of a GPU node reports only one of them, the node is not measured, because a partial sum is not the node's power.
 */
export function agentReading(
  status: NodeTwinStatus["controlStatus"],
  hasGpu: boolean,
  now: Instant,
): PowerReading | undefined {
  const reports = hasGpu ? [status?.cpu, status?.gpu] : [status?.cpu];
  let power = 0;
  let oldest = Infinity;
  for (const report of reports) {
    const at = freshSince(report, now);
    const part = report?.observedPowerWatts;
    if (at === undefined || !isNonNegative(part)) return undefined;
    power += part;
    oldest = Math.min(oldest, at);
  }
  return Number.isFinite(power) ? { power: watts(power), source: "agent", at: instant(oldest) } : undefined;
}

/** A report from the future is as unreliable as an old one. */
function freshSince(report: TwinControlReport | undefined, now: Instant): Instant | undefined {
  const at = instant(Date.parse(report?.updatedAt ?? ""));
  return now - at <= agentReadingFreshFor && !isBeyondClockSkew(at, now) ? at : undefined;
}
