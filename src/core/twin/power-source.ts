import type { NodeTwinStatus, PowerSource, TwinControlReport } from "../api/index.ts";
import {
  type Instant,
  instant,
  isNonNegative,
  type Milliseconds,
  milliseconds,
  type Watts,
  watts,
} from "../units/index.ts";
import { isBeyondClockSkew } from "./clock-skew.ts";

export interface PowerReading {
  readonly power: Watts;
  readonly source: PowerSource;
  readonly at: Instant;
}

/** OPERATOR_NODE_POWER_SOURCE. */
export const powerSourceModes = ["auto", "static", "utilization", "http", "prometheus"] as const;
export type PowerSourceMode = (typeof powerSourceModes)[number];

/** What is known of a node's power this tick, by the way it came to be known. */
export interface PowerReadings {
  readonly agent?: PowerReading | undefined;
  /** From the configured HTTP endpoint or Prometheus. */
  readonly external?: PowerReading | undefined;
  readonly utilization?: PowerReading | undefined;
  readonly static?: PowerReading | undefined;
}

/** A source somebody named is not replaced behind their back: if it is silent, the node is unmeasured. */
const preference: Readonly<Record<PowerSourceMode, readonly (keyof PowerReadings)[]>> = {
  auto: ["agent", "utilization", "static"],
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

/**
 * The longest time in which an agent reports a node's power at least once, though nothing moved: the one figure that agent
 * and operator share. Why it is no count of the agent's ticks: docs/design/0005-twin-readings.md.
 */
export const agentHeartbeat = milliseconds(60_000);

/** Two reports may be lost before a reading is old. */
const FRESH_HEARTBEATS = 3;

/** How long the operator goes by an agent's reading. An agent with a longer interval leaves its node unmeasured in between. */
export const agentReadingFreshFor = milliseconds(FRESH_HEARTBEATS * agentHeartbeat);

/**
 * What the agent itself last saw on the node: CPUs and GPUs together, as old as the older of the two. A GPU node of which it
 * saw only one of them is unmeasured, for half a node's power is no measure of it.
 *
 * `heartbeat` is the longest time in which the agent reports at least once, though nothing moved. It is not its tick: inside
 * its deadband a healthy agent is silent for many ticks, and a bound on those would make every steady node unmeasured. The
 * operator cannot read it off the agent, so both go by `agentHeartbeat`.
 */
export function agentReading(
  status: NodeTwinStatus["controlStatus"],
  hasGpu: boolean,
  now: Instant,
  heartbeat: Milliseconds,
): PowerReading | undefined {
  const reports = hasGpu ? [status?.cpu, status?.gpu] : [status?.cpu];
  let power = 0;
  let oldest = Number.POSITIVE_INFINITY;
  for (const report of reports) {
    const at = freshSince(report, now, heartbeat);
    const part = report?.observedPowerWatts;
    if (at === undefined || !isNonNegative(part)) return undefined;
    power += part;
    oldest = Math.min(oldest, at);
  }
  return Number.isFinite(power) ? { power: watts(power), source: "agent", at: instant(oldest) } : undefined;
}

/** A report from the future is as doubtful as an old one. */
function freshSince(report: TwinControlReport | undefined, now: Instant, heartbeat: Milliseconds): Instant | undefined {
  const at = instant(Date.parse(report?.updatedAt ?? ""));
  return now - at <= FRESH_HEARTBEATS * heartbeat && !isBeyondClockSkew(at, now) ? at : undefined;
}
