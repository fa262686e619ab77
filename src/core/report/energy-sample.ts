import type { Node, NodeTwin, Pod, TwinControlReport } from "../api/index.ts";
import {
  demandOf,
  gpuBoardsOn,
  gpuNodeOf,
  type MarginalCoefficients,
  marginalWattsOn,
  type WorkloadClass,
  workloadClassOf,
} from "../demand/index.ts";
import { type HardwareView, type HardwareViewOptions, hardwareView } from "../inventory/index.ts";
import { eligibilityOf, isTwinOf } from "../policy/index.ts";
import { type NodePowerModel, nodePowerModelOf, restOfServerOf } from "../power/index.ts";
import { defaultEnergySettings, defaultScoringSettings } from "../scoring/index.ts";
import { agentReadingFreshFor, idleAtWall, offAtWall, powerAtWall } from "../twin/index.ts";
import {
  between,
  type Instant,
  isPositive,
  type Milliseconds,
  parseInstant,
  type Watts,
  watts,
} from "../units/index.ts";
import type { ClusterObjectsWithPods, ReportSettings } from "./cluster-objects.ts";
import { type DeviceReading, type NodeReading, savedByCaps, type WattsInterval } from "./counterfactual.ts";
import type { EnergySample, NodeEnergySample } from "./energy-account.ts";
import { podsOfNodes } from "./node-summary.ts";

const NOTHING: WattsInterval = { estimate: watts(0), low: watts(0), high: watts(0) };
const coefficients: MarginalCoefficients = defaultScoringSettings.coefficients;

/** The managed nodes at one moment, for an EnergyAccount. */
export function energySampleOf(
  objects: ClusterObjectsWithPods,
  settings: ReportSettings,
  options: HardwareViewOptions = {},
): EnergySample {
  const pods = podsOfNodes(objects.pods);
  const managed = objects.nodes.filter((node) => eligibilityOf(node, settings) !== "unmanaged");
  const nodes = managed.map((node): NodeEnergySample => {
    const { name } = node.metadata;
    const found = objects.twins.get(name);
    const twin = found !== undefined && isTwinOf(node, found) ? found : undefined;
    const hardware = hardwareView(node, objects.hardware.get(name)?.status, options);
    return nodeSampleOf(node, twin, hardware, pods.get(name) ?? [], {
      now: objects.now,
      staleAfter: settings.staleAfter,
    });
  });
  return { at: objects.now, nodes };
}

interface Freshness {
  readonly now: Instant;
  readonly staleAfter: Milliseconds;
}

/** Figures that the operator, or an agent, no longer refreshes are history, not a reading. */
function isFresh(time: string | undefined, { now, staleAfter }: Freshness): boolean {
  const updated = parseInstant(time);
  return updated !== undefined && between(updated, now) <= staleAfter;
}

function nodeSampleOf(
  node: Node,
  twin: NodeTwin | undefined,
  hardware: HardwareView,
  pods: readonly Pod[],
  freshness: Freshness,
): NodeEnergySample {
  const model = nodePowerModelOf(hardware);
  const status = twin?.status;
  const asleep = status?.power?.state === "off";
  const measurement = isFresh(status?.lastUpdated, freshness) ? status?.powerMeasurement : undefined;
  const wall = asleep ? offAtWall(model) : powerAtWall(model, measurement);
  const devices = asleep ? undefined : measurement?.measuredNodePowerW;
  const saved =
    devices === undefined
      ? NOTHING
      : savedByCaps(model, readingOf(node, twin, hardware, model, pods, devices, freshness.now));
  return {
    node: node.metadata.name,
    drawn: wall?.power,
    modelled: wall?.modelled ?? watts(0),
    idle: idleAtWall(model),
    shares: sharesOf(pods, hardware, node),
    savedByCaps: atWall(saved, model),
    savedInChips: asleep ? model.idle : saved.estimate,
    asleep,
  };
}

/** Each watt that packages and boards save also saves power in the rest of the server. */
function atWall({ estimate, low, high }: WattsInterval, model: NodePowerModel): WattsInterval {
  const share = 1 + restOfServerOf(model).slope;
  return { estimate: watts(share * estimate), low: watts(share * low), high: watts(share * high) };
}

/** The power of the devices, from the agent where it reports them apart; else split by what pods are expected to draw. */
function readingOf(
  { metadata }: Node,
  twin: NodeTwin | undefined,
  hardware: HardwareView,
  model: NodePowerModel,
  pods: readonly Pod[],
  drawn: Watts,
  now: Instant,
): NodeReading {
  const { controlStatus, powerMeasurement } = twin?.status ?? {};
  const gpuNode = gpuNodeOf(hardware, metadata.labels);
  const { cpuUtilisation, gpuUtilisation } = defaultEnergySettings;
  let cpus = 0;
  let boards = 0;
  for (const pod of pods) {
    const { cpuCores, gpus } = demandOf(pod);
    cpus += cpuCores;
    boards += gpus.size === 0 ? 0 : gpuBoardsOn(gpus, gpuNode);
  }
  const threads = hardware.cpu.logicalCpus ?? model.cores;
  const cpuLoad = share((cpus * cpuUtilisation) / threads);
  const gpuLoad = model.boards > 0 ? share((boards * gpuUtilisation) / model.boards) : 0;
  const expectedGpu =
    model.gpu === undefined ? 0 : model.boards * (model.gpu.idle + gpuLoad * (model.gpu.full - model.gpu.idle));
  const expectedCpu = model.packages * (model.cpu.idle + cpuLoad * (model.cpu.full - model.cpu.idle));
  const split = expectedCpu + expectedGpu > 0 ? expectedCpu / (expectedCpu + expectedGpu) : 1;
  const freshness = { now, staleAfter: agentReadingFreshFor };
  const observed = (report: TwinControlReport | undefined) =>
    isFresh(report?.updatedAt, freshness) ? report?.observedPowerWatts : undefined;
  const cpuDrawn = observed(controlStatus?.cpu) ?? watts(drawn * split);
  const gpuDrawn = observed(controlStatus?.gpu) ?? watts(drawn * (1 - split));
  const cpu: DeviceReading = {
    drawn: cpuDrawn,
    cap: powerMeasurement?.cpuCappedPowerW,
    expectedLoad: cpuLoad,
    busyShare: 1,
    sharesLoad: true,
  };
  if (model.gpu === undefined) return { cpu };
  return {
    cpu,
    gpu: {
      drawn: gpuDrawn,
      cap: powerMeasurement?.gpuCappedPowerW,
      expectedLoad: gpuLoad,
      busyShare: share(boards / model.boards),
      sharesLoad: false,
    },
  };
}

const share = (value: number): number => (isPositive(value) ? Math.min(1, value) : 0);

/** Pods share what a node draws above idle in proportion to the watts that they are expected to add. */
function sharesOf(pods: readonly Pod[], hardware: HardwareView, { metadata }: Node): Record<WorkloadClass, number> {
  const expected = { performance: 0, standard: 0 };
  for (const pod of pods) {
    const { workloadClass } = workloadClassOf(pod);
    const added = marginalWattsOn(
      { demand: demandOf(pod), workloadClass },
      { hardware, labels: metadata.labels },
      coefficients,
    );
    expected[workloadClass] += added.total;
  }
  const sum = expected.performance + expected.standard;
  if (!isPositive(sum)) return { performance: 0, standard: 0 };
  return { performance: expected.performance / sum, standard: expected.standard / sum };
}
