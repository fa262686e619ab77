import { boundWattsOn } from "../../core/demand/index.ts";
import {
  agentReading,
  choosePower,
  type PowerReading,
  staticEstimate,
  utilizationEstimate,
} from "../../core/twin/index.ts";
import { type Instant, isPositive, parseQuantity, type Watts } from "../../core/units/index.ts";
import type { FacilityReadings, NodeUsage } from "../../platform/telemetry/index.ts";
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

/** The share of its request's power a pod is expected to draw: what the extender reckons with unless told otherwise. */
const COEFFICIENTS = { cpu: 0.7, gpuStandard: 0.65, gpuPerformance: 0.85 };

interface ReadingInput {
  readonly node: ClusterNode;
  readonly shape: NodeShape;
  readonly view: ClusterView;
  readonly telemetry: Telemetry;
  readonly settings: OperatorSettings;
  /** What the node may draw under its caps. */
  readonly budget: Watts | undefined;
  readonly now: Instant;
}

/** The node's power by the source that is configured; the ways that would not be asked are not worked out. */
export function readingOf(input: ReadingInput): PowerReading | undefined {
  const { node, shape, view, telemetry, settings, now } = input;
  const { name } = node.metadata;
  const controlStatus = view.twin(name)?.status?.controlStatus;
  return choosePower(settings.powerSource, {
    get agent() {
      return agentReading(controlStatus, shape.view.gpu !== undefined, now, settings.agentHeartbeat);
    },
    get external() {
      return telemetry.power.get(name);
    },
    get utilization() {
      return utilizationReading(input);
    },
    get static() {
      const pods = boundWattsOn(
        view.podsOn(name),
        { hardware: shape.view, labels: node.metadata.labels },
        COEFFICIENTS,
      );
      const power = staticEstimate(shape.view, pods.total, input.budget);
      return power === undefined ? undefined : { power, source: "static" as const, at: now };
    },
  });
}

function utilizationReading({ node, shape, view, telemetry, budget }: ReadingInput): PowerReading | undefined {
  const { name, labels } = node.metadata;
  const usage = telemetry.usage.get(name);
  const cpus = cpusOf(node) ?? shape.view.cpu.totalCores;
  if (usage === undefined || !isPositive(cpus)) return undefined;
  const pods = boundWattsOn(view.podsOn(name), { hardware: shape.view, labels }, COEFFICIENTS);
  const power = utilizationEstimate(shape.view, usage.cpuCores / cpus, pods.gpu, budget);
  return power === undefined ? undefined : { power, source: "utilization", at: usage.at };
}

function cpusOf({ status }: ClusterNode): number | undefined {
  const text = status?.capacity?.cpu ?? status?.allocatable?.cpu;
  const parsed = text === undefined ? undefined : parseQuantity(String(text));
  return parsed?.ok === true ? parsed.value : undefined;
}
