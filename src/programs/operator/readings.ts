import type { MarginalWatts } from "../../core/demand/index.ts";
import {
  agentReading,
  choosePower,
  type PowerReading,
  staticEstimate,
  utilizationEstimate,
} from "../../core/twin/index.ts";
import { type Instant, isPositive, parseQuantity, type Watts } from "../../core/units/index.ts";
import { type FacilityReadings, isStale, type NodeUsage } from "../../platform/telemetry/index.ts";
import type { ClusterNode, ClusterView } from "./cluster-view.ts";
import type { NodeShape } from "./memory.ts";
import type { OperatorSettings } from "./settings.ts";

/** What was read outside of the cluster's own objects. */
export interface Telemetry {
  /** From the configured HTTP endpoint or Prometheus. */
  readonly power: ReadonlyMap<string, PowerReading>;
  /** From metrics.k8s.io. */
  readonly usage: ReadonlyMap<string, NodeUsage>;
  readonly facility: FacilityReadings;
}

interface ReadingInput {
  readonly node: ClusterNode;
  readonly shape: NodeShape;
  readonly view: ClusterView;
  readonly telemetry: Telemetry;
  readonly settings: OperatorSettings;
  /** What the pods bound to the node are expected to add. */
  readonly podWatts: () => MarginalWatts;
  /** What the node may draw under its caps. */
  readonly budget: Watts | undefined;
  readonly now: Instant;
}

/** The node's power by the source that is configured; a way that is not asked, or comes second, is not worked out. */
export function readingOf(input: ReadingInput): PowerReading | undefined {
  const { settings, telemetry, node } = input;
  const mode = settings.powerSource;
  if (mode === "http" || mode === "prometheus")
    return choosePower(mode, { external: believed(telemetry.power.get(node.metadata.name), input) });
  const direct = mode === "auto" ? choosePower(mode, { agent: agentsReading(input) }) : undefined;
  return (
    direct ??
    choosePower(mode, { utilization: mode === "static" ? undefined : utilizationReading(input) }) ??
    choosePower(mode, { static: mode === "utilization" ? undefined : staticReading(input) })
  );
}

function agentsReading({ node, shape, view, settings, now }: ReadingInput): PowerReading | undefined {
  const controlStatus = view.twin(node.metadata.name)?.status?.controlStatus;
  return agentReading(controlStatus, shape.view.gpu !== undefined, now, settings.agentHeartbeat);
}

function staticReading({ shape, podWatts, budget, now }: ReadingInput): PowerReading | undefined {
  const power = staticEstimate(shape.view, podWatts().total, budget);
  return power === undefined ? undefined : { power, source: "static", at: now };
}

/** What was read last may be history: from before an outage, or from an earlier term. */
const believed = <Read extends { readonly at: Instant }>(
  read: Read | undefined,
  { settings, now }: ReadingInput,
): Read | undefined => (read === undefined || isStale(read.at, now, settings.readingsBelieved) ? undefined : read);

function utilizationReading(input: ReadingInput): PowerReading | undefined {
  const { node, shape, podWatts, telemetry, budget } = input;
  const usage = believed(telemetry.usage.get(node.metadata.name), input);
  const cpus = cpusOf(node) ?? shape.view.cpu.totalCores;
  if (usage === undefined || !isPositive(cpus)) return undefined;
  const power = utilizationEstimate(shape.view, usage.cpuCores / cpus, podWatts().gpu, budget);
  return power === undefined ? undefined : { power, source: "utilization", at: usage.at };
}

function cpusOf({ status }: ClusterNode): number | undefined {
  const text = status?.capacity?.cpu ?? status?.allocatable?.cpu;
  const parsed = text === undefined ? undefined : parseQuantity(String(text));
  return parsed?.ok === true ? parsed.value : undefined;
}
