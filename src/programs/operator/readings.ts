import type { PowerSource } from "../../core/api/index.ts";
import type { MarginalWatts } from "../../core/demand/index.ts";
import {
  agentReading,
  choosePowerReading,
  type PowerReading,
  type PowerSourceMode,
  staticEstimate,
  utilizationEstimate,
} from "../../core/twin/index.ts";
import { type Instant, instant, isPositive, parseQuantity, watts } from "../../core/units/index.ts";
import { isStale } from "../../platform/telemetry/index.ts";
import type { ClusterNode } from "./cluster-view.ts";
import type { PassInput } from "./pass-input.ts";
import type { Target } from "./target.ts";

/** The node's power by the source that is configured; a way that is not asked, or comes second, is not worked out. */
export function readingOf(target: Target, input: PassInput): PowerReading | undefined {
  const { settings, telemetry } = input;
  const mode = settings.powerSource;
  if (mode === "http" || mode === "prometheus")
    return choosePowerReading(mode, {
      external: believed(telemetry.power.get(target.name), input) ?? told(target, input),
    });
  const direct = mode === "auto" ? choosePowerReading(mode, { agent: agentsReading(target, input) }) : undefined;
  return (
    direct ??
    choosePowerReading(mode, { utilization: mode === "static" ? undefined : utilizationReading(target, input) }) ??
    choosePowerReading(mode, { static: mode === "utilization" ? undefined : staticReading(target, input) })
  );
}

const agentsReading = ({ twin, managed: { shape } }: Target, { settings, now }: PassInput): PowerReading | undefined =>
  agentReading(twin?.status?.controlStatus, shape.view.gpu !== undefined, now, settings.agentHeartbeat);

function staticReading(target: Target, input: PassInput): PowerReading | undefined {
  const power = staticEstimate(target.managed.shape.view, podWattsOn(target, input).total, target.budget);
  return power === undefined ? undefined : { power, source: "static", at: input.now };
}

const podWattsOn = ({ name, managed }: Target, { memory, view }: PassInput): MarginalWatts =>
  memory.of(name).podWatts(managed, view);

/** What was read last may be history: from before an outage, or from an earlier term. */
const believed = <Read extends { readonly at: Instant }>(
  read: Read | undefined,
  { settings, now }: PassInput,
): Read | undefined => (read === undefined || isStale(read.at, now, settings.readingsBelieved) ? undefined : read);

function utilizationReading(target: Target, input: PassInput): PowerReading | undefined {
  const { name, managed, budget } = target;
  const { node, shape } = managed;
  const usage = believed(input.telemetry.usage.get(name), input);
  if (usage === undefined) return told(target, input);
  const cpus = cpusOf(node) ?? shape.view.cpu.totalCores;
  if (!isPositive(cpus)) return undefined;
  const power = utilizationEstimate(shape.view, usage.cpuCores / cpus, podWattsOn(target, input).gpu, budget);
  return power === undefined ? undefined : { power, source: "utilization", at: usage.at };
}

/** The sources of readings that come from outside, by the mode that takes them. */
const outside: Readonly<Partial<Record<PowerSourceMode, readonly PowerSource[]>>> = {
  auto: ["utilization"],
  utilization: ["utilization"],
  http: ["http"],
  prometheus: ["prometheus", "kepler"],
};

/**
 * What another replica read and published: it is as good as what this one read itself, and as long. Without it a new leader
 * whose first question is not answered would move every node to another source, and back.
 */
function told({ twin, budget }: Target, input: PassInput): PowerReading | undefined {
  const { source, measuredNodePowerW: power, measuredAt = "" } = twin?.status?.powerMeasurement ?? {};
  if (source === undefined || power === undefined || !outside[input.settings.powerSource]?.includes(source))
    return undefined;
  // An estimate is never above what the caps allow; a meter says what it says.
  const most = source === "utilization" ? (budget ?? power) : power;
  return believed({ power: watts(Math.min(power, most)), source, at: instant(Date.parse(measuredAt)) }, input);
}

function cpusOf({ status }: ClusterNode): number | undefined {
  const text = status?.capacity?.cpu ?? status?.allocatable?.cpu;
  const parsed = text === undefined ? undefined : parseQuantity(String(text));
  return parsed?.ok === true ? parsed.value : undefined;
}
