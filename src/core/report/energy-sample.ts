import type { Node, NodeTwin, Pod } from "../api/index.ts";
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
import { type NodePowerModel, nodePowerModelOf } from "../power/index.ts";
import { defaultEnergySettings, defaultScoringSettings } from "../scoring/index.ts";
import { between, type Instant, isPositive, type Watts, watts } from "../units/index.ts";
import type { ClusterObjectsWithPods, ReportSettings } from "./cluster-objects.ts";
import { type DeviceReading, type NodeReading, savedByCaps, type WattsInterval } from "./counterfactual.ts";
import type { EnergySample, NodeEnergySample } from "./energy-account.ts";
import { podsOfNodes, timeOf } from "./node-summary.ts";

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
    return nodeSampleOf(node, twin, hardware, pods.get(name) ?? [], isFresh(twin, objects.now, settings));
  });
  return { at: objects.now, nodes };
}

/** The figures of a twin that the operator no longer refreshes are history, not a reading. */
function isFresh(twin: NodeTwin | undefined, now: Instant, { staleAfter }: ReportSettings): boolean {
  const updated = timeOf(twin?.status?.lastUpdated);
  return updated !== undefined && between(updated, now) <= staleAfter;
}

function nodeSampleOf(
  node: Node,
  twin: NodeTwin | undefined,
  hardware: HardwareView,
  pods: readonly Pod[],
  fresh: boolean,
): NodeEnergySample {
  const model = nodePowerModelOf(hardware);
  const status = twin?.status;
  const asleep = status?.power?.state === "off";
  const measured = fresh ? status?.powerMeasurement?.measuredNodePowerW : undefined;
  const drawn = asleep ? watts(0) : measured;
  const reading = drawn === undefined || asleep ? undefined : readingOf(node, twin, hardware, model, pods, drawn);
  return {
    node: node.metadata.name,
    drawn,
    idle: model.idle,
    shares: sharesOf(pods, hardware, node),
    savedByCaps: reading === undefined ? NOTHING : savedByCaps(model, reading),
    asleep,
  };
}

/** The power of the devices, from the agent where it reports them apart; else split by what pods are expected to draw. */
function readingOf(
  { metadata }: Node,
  twin: NodeTwin | undefined,
  hardware: HardwareView,
  model: NodePowerModel,
  pods: readonly Pod[],
  drawn: Watts,
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
  const cpuDrawn = controlStatus?.cpu?.observedPowerWatts ?? watts(drawn * split);
  const gpuDrawn = controlStatus?.gpu?.observedPowerWatts ?? watts(drawn * (1 - split));
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
