import type { PowerSource } from "../api/index.ts";
import { boundWattsOn, type MarginalWatts } from "../demand/index.ts";
import {
  agentReading,
  cappedPower,
  choosePowerReading,
  gpuEstimate,
  type PowerReading,
  type PowerSourceMode,
  readingOfMeter,
  staticEstimate,
  utilizationEstimate,
} from "../twin/index.ts";
import { type Instant, instant, isPositive, isStale, parseQuantity, watts } from "../units/index.ts";
import type { SnapshotNode } from "./cluster-snapshot.ts";
import type { NodeTarget } from "./node-plan.ts";
import type { PlanningInput } from "./planning-input.ts";

/** The node's power from the configured source. Sources of lower preference are evaluated only when needed. */
export function powerReadingOf(target: NodeTarget, input: PlanningInput): PowerReading | undefined {
  const { settings, now } = input;
  // A node that is switched off draws nothing, whatever an old report says.
  if (target.twin?.status?.power?.state === "off") return { power: watts(0), source: "static", at: now };
  const mode = settings.powerSource;
  const external = outsideMeters[mode] === undefined ? undefined : meterReading(target, input);
  const agent = mode === "auto" ? readingOfAgent(target, input) : undefined;
  const direct = choosePowerReading(mode, { agent, external });
  // The agent reads packages and boards; a meter of the whole server adds to that.
  if (direct !== undefined) return external?.server === undefined ? direct : { ...direct, server: external.server };
  if (mode === "http" || mode === "prometheus") return undefined;
  return (
    choosePowerReading(mode, { utilization: mode === "static" ? undefined : utilizationReading(target, input) }) ??
    choosePowerReading(mode, { static: mode === "utilization" ? undefined : staticReading(target, input) })
  );
}

/** The sources of meters outside the cluster, by mode. */
const outsideMeters: Readonly<Partial<Record<PowerSourceMode, readonly PowerSource[]>>> = {
  auto: ["kepler", "prometheus"],
  http: ["http"],
  prometheus: ["prometheus", "kepler"],
};

/** What the meter reads as the power of packages and boards. Boards that it does not read are estimated from their pods. */
function meterReading(target: NodeTarget, input: PlanningInput): PowerReading | undefined {
  const sources = outsideMeters[input.settings.powerSource] ?? [];
  const meter = ifFresh(input.telemetry.power.get(target.name), input);
  if (meter === undefined || !sources.includes(meter.source)) return publishedReading(target, input, sources);
  const { hardware, power } = target.managed.shape;
  return readingOfMeter(meter, power, () =>
    gpuEstimate(hardware, podWattsOn(target, input).gpu, cappedPower(hardware, target.caps)?.gpu),
  );
}

const readingOfAgent = ({ twin, managed: { shape } }: NodeTarget, { now }: PlanningInput): PowerReading | undefined =>
  agentReading(twin?.status?.controlStatus, shape.hardware.gpu !== undefined, now);

function staticReading(target: NodeTarget, input: PlanningInput): PowerReading | undefined {
  const power = staticEstimate(target.managed.shape.hardware, podWattsOn(target, input).total, target.budget);
  return power === undefined ? undefined : { power, source: "static", at: input.now };
}

/** The share of its requested power that a pod is expected to draw: the defaults of the extender. */
const COEFFICIENTS = { cpu: 0.7, gpuStandard: 0.65, gpuPerformance: 0.85 };

function podWattsOn({ name, managed }: NodeTarget, { snapshot }: PlanningInput): MarginalWatts {
  const nodeHardware = { hardware: managed.shape.hardware, labels: managed.node.metadata.labels };
  return boundWattsOn(snapshot.podsOn(name), nodeHardware, COEFFICIENTS);
}

/** The last reading may be from before an outage or from an earlier term of leadership. */
const ifFresh = <Reading extends { readonly at: Instant }>(
  reading: Reading | undefined,
  { settings, now }: PlanningInput,
): Reading | undefined =>
  reading === undefined || isStale(reading.at, now, settings.readingsFreshFor) ? undefined : reading;

function utilizationReading(target: NodeTarget, input: PlanningInput): PowerReading | undefined {
  const { name, managed, budget } = target;
  const { node, shape } = managed;
  const usage = ifFresh(input.telemetry.usage.get(name), input);
  if (usage === undefined) return publishedReading(target, input, ["utilization"]);
  const cpus = cpusOf(node) ?? shape.hardware.cpu.totalCores;
  if (!isPositive(cpus)) return undefined;
  const power = utilizationEstimate(shape.hardware, usage.cpuCores / cpus, podWattsOn(target, input).gpu, budget);
  return power === undefined ? undefined : { power, source: "utilization", at: usage.at };
}

/**
 * The reading that another replica published. It is used like this replica's own reading, for the same time. Without it, a new
 * leader whose first query fails would switch every node to another source and back.
 */
function publishedReading(
  { twin, budget }: NodeTarget,
  input: PlanningInput,
  sources: readonly PowerSource[],
): PowerReading | undefined {
  const { powerMeasurement } = twin?.status ?? {};
  if (powerMeasurement === undefined) return undefined;
  const { source, measuredNodePowerW: power, measuredAt = "", estimatedGpuPowerW, serverPowerW } = powerMeasurement;
  if (source === undefined || power === undefined || !sources.includes(source)) return undefined;
  // An estimate never exceeds the caps; a measured value may.
  const limit = source === "utilization" ? (budget ?? power) : power;
  const reading = {
    power: watts(Math.min(power, limit)),
    source,
    at: instant(Date.parse(measuredAt)),
    ...(estimatedGpuPowerW !== undefined && { estimatedGpus: estimatedGpuPowerW }),
    ...(serverPowerW !== undefined && { server: serverPowerW }),
  };
  return ifFresh(reading, input);
}

function cpusOf({ status }: SnapshotNode): number | undefined {
  const text = status?.capacity?.cpu ?? status?.allocatable?.cpu;
  const parsed = text === undefined ? undefined : parseQuantity(String(text));
  return parsed?.ok === true ? parsed.value : undefined;
}
