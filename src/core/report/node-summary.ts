import {
  type ControlResult,
  type Labels,
  labels,
  managedByOperator,
  type Node,
  type NodeTwin,
  type Pod,
  type PowerSource,
  type Profile,
  type SchedulableClass,
} from "../api/index.ts";
import { allocatableOf, fitRequests, podRequests, podSummaryOf, type WorkloadClass } from "../demand/index.ts";
import { type Eligibility, eligibilityOf, isTwinOf, pinFrom, pinnedUntil } from "../policy/index.ts";
import {
  between,
  type Instant,
  isPositive,
  type Milliseconds,
  type Percent,
  parseInstant,
  percent,
  type Watts,
  type WattsPerMinute,
  watts,
} from "../units/index.ts";
import type { ClusterObjects, ReportSettings } from "./cluster-objects.ts";

/** What the agent last did to one device. */
export interface ControlReceipt {
  readonly device: "cpu" | "gpu";
  readonly result: ControlResult | undefined;
  readonly backend: string | undefined;
  readonly message: string | undefined;
  readonly observedWatts: Watts | undefined;
  /** Since the agent reported it; undefined if it gave no time. */
  readonly age: Milliseconds | undefined;
}

/** A cap of the target, in watts or in percent of the maximum. */
export interface DeviceCap {
  readonly watts?: Watts | undefined;
  readonly percent?: Percent;
  /** The limit that it comes from: profile, slowdown, pin; undefined if an older operator wrote it. */
  readonly limit?: string | undefined;
}

interface NodePin {
  readonly profile: Profile;
  /** Absent: until it is removed. */
  readonly until: Instant | undefined;
  readonly expired: boolean;
}

/** What pods request of a node, and what it has. Undefined if the pods cannot be read, or the node does not report it. */
interface Allocation {
  readonly cpus: number | undefined;
  readonly cpuCapacity: number | undefined;
  readonly gpus: number | undefined;
  readonly gpuCapacity: number;
}

/** All that is known about one node, for lists, maps and details. Unknown values are undefined, never 0. */
export interface NodeSummary {
  readonly name: string;
  readonly labels: Labels;
  readonly rack: string | undefined;
  readonly eligibility: Eligibility;
  readonly schedulableClass: SchedulableClass;
  readonly profile: Profile | undefined;
  readonly draining: boolean;
  readonly policy: string | undefined;
  readonly pin: NodePin | undefined;
  readonly cpuCap: DeviceCap | undefined;
  readonly gpuCap: DeviceCap | undefined;
  /** Undefined as well once the twin is stale. */
  readonly drawn: Watts | undefined;
  /** The most that the node may draw under its caps. */
  readonly budget: Watts | undefined;
  /** The most that it draws uncapped. */
  readonly uncapped: Watts | undefined;
  readonly trend: WattsPerMinute | undefined;
  readonly source: PowerSource | undefined;
  /** The source reads no GPUs: their part of `drawn` is an estimate. */
  readonly estimatedGpuPowerW: Watts | undefined;
  /** `drawn` in percent of `budget`. */
  readonly used: Percent | undefined;
  /** Cooling stress of the power drawn now. */
  readonly cooling: Percent | undefined;
  /** Cooling stress and headroom that the twin forecasts at the cap, for the scheduler; undefined while the node is asleep. */
  readonly coolingAtCap: Percent | undefined;
  readonly headroomAtCap: Percent | undefined;
  readonly psu: Percent | undefined;
  readonly slowdownPct: number | undefined;
  readonly powerState: string;
  /** Since the operator refreshed the twin. */
  readonly twinAge: Milliseconds | undefined;
  readonly stale: boolean;
  /** When the class last changed. */
  readonly classSince: Instant | undefined;
  readonly receipts: readonly ControlReceipt[];
  readonly pods: number | undefined;
  readonly performancePods: number | undefined;
  readonly allocation: Allocation;
}

export function summarizeNodes(objects: ClusterObjects, settings: ReportSettings): NodeSummary[] {
  const byNode = objects.pods && podsOfNodes(objects.pods);
  return objects.nodes.map((node) =>
    summarizeNode(node, objects, byNode && (byNode.get(node.metadata.name) ?? []), settings),
  );
}

export function podsOfNodes(pods: Iterable<Pod>): ReadonlyMap<string, readonly Pod[]> {
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = pod.spec?.nodeName;
    if (node === undefined || node === "" || hasEnded(pod)) continue;
    const known = byNode.get(node);
    if (known === undefined) byNode.set(node, [pod]);
    else known.push(pod);
  }
  return byNode;
}

export const hasEnded = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";

/** `pods` are those of the node; undefined if they cannot be read. */
export function summarizeNode(
  node: Node,
  objects: Omit<ClusterObjects, "nodes" | "pods">,
  pods: readonly Pod[] | undefined,
  settings: ReportSettings,
): NodeSummary {
  const { now } = objects;
  const { name } = node.metadata;
  const found = objects.twins.get(name);
  // A node that was deleted and created again has the twin of its predecessor for a moment.
  const twin = found !== undefined && isTwinOf(node, found) ? found : undefined;
  const { spec, status } = twin ?? {};
  const measured = status?.powerMeasurement;
  const updated = parseInstant(status?.lastUpdated);
  const twinAge = updated === undefined ? undefined : between(updated, now);
  const stale = twinAge === undefined || twinAge > settings.staleAfter;
  const schedulableClass = classOf(twin);
  const isAsleep = schedulableClass === "asleep";
  // The last reading of a machine that is off is history, and so is that of a twin that the operator does not refresh.
  let drawn = stale ? undefined : measured?.measuredNodePowerW;
  if (status?.power?.state === "off") drawn = watts(0);
  const budget = measured?.nodeCappedPowerW;
  const allocation = allocationOf(node, pods);
  return {
    name,
    labels: node.metadata.labels ?? {},
    rack: node.metadata.labels?.[settings.rackLabel],
    eligibility: eligibilityOf(node, settings),
    schedulableClass,
    profile: spec?.profile,
    draining: spec?.scheduling?.draining === true,
    policy: spec?.policy?.name,
    pin: pinOf(objects, name),
    cpuCap: capOf(spec?.cpu?.packagePowerCapWatts, spec?.cpu?.packagePowerCapPctOfMax, spec?.caps?.cpu),
    gpuCap: capOf(spec?.gpu?.powerCap?.capWattsPerGpu, spec?.gpu?.powerCap?.capPctOfMax, spec?.caps?.gpu),
    drawn,
    budget,
    uncapped: measured?.nodeTdpW,
    trend: stale ? undefined : measured?.powerTrendWPerMin,
    source: measured?.source,
    estimatedGpuPowerW: measured?.estimatedGpuPowerW,
    used: drawn === undefined || !isPositive(budget) ? undefined : percent((drawn * 100) / budget),
    cooling: isAsleep || stale ? undefined : status?.coolingStressNow,
    coolingAtCap: isAsleep ? undefined : status?.predictedCoolingStressScore,
    headroomAtCap: isAsleep ? undefined : status?.predictedPowerHeadroomScore,
    psu: status?.predictedPsuStressScore,
    slowdownPct: status?.expectedSlowdownPct,
    powerState: status?.power?.state ?? "on",
    twinAge,
    stale,
    classSince: parseInstant(status?.lastTransitionTime),
    receipts: receiptsOf(twin, now),
    pods: pods?.length,
    performancePods: pods?.filter((pod) => podSummaryOf(pod, settings.powerProfileLabel).performanceSensitive).length,
    allocation,
  };
}

/** The power program's word counts before the class, which the operator publishes a little later. */
function classOf(twin: NodeTwin | undefined): SchedulableClass {
  const state = twin?.status?.power?.state ?? "on";
  return state === "on" ? (twin?.status?.schedulableClass ?? "unknown") : "asleep";
}

function pinOf({ profiles, now }: Pick<ClusterObjects, "profiles" | "now">, name: string): NodePin | undefined {
  const object = profiles.get(name);
  if (object === undefined || object.metadata.labels?.[labels.managedBy] === managedByOperator) return undefined;
  return { profile: object.spec.profile, until: pinnedUntil(object), expired: pinFrom(object, now) === undefined };
}

function capOf(
  watts: Watts | undefined,
  percent: Percent | undefined,
  limit: string | undefined,
): DeviceCap | undefined {
  if (watts !== undefined) return { watts, limit };
  return percent === undefined ? undefined : { percent, limit };
}

function receiptsOf(twin: NodeTwin | undefined, now: Instant): ControlReceipt[] {
  const { controlStatus } = twin?.status ?? {};
  return (["cpu", "gpu"] as const).flatMap((device) => {
    const report = controlStatus?.[device];
    if (report === undefined) return [];
    const at = parseInstant(report.updatedAt);
    return {
      device,
      result: report.result,
      backend: report.backend,
      message: report.message,
      observedWatts: report.observedPowerWatts,
      age: at === undefined ? undefined : between(at, now),
    };
  });
}

function allocationOf(node: Node, pods: readonly Pod[] | undefined): Allocation {
  const totals = allocatableOf(node);
  const capacities = { cpuCapacity: totals.get("cpu"), gpuCapacity: podRequests(totals).gpus };
  if (pods === undefined) return { cpus: undefined, gpus: undefined, ...capacities };
  let cpus = 0;
  let gpus = 0;
  for (const pod of pods) {
    const asked = podRequests(fitRequests(pod));
    cpus += asked.amounts.get("cpu") ?? 0;
    gpus += asked.gpus;
  }
  return { cpus, gpus, ...capacities };
}

/** The sums over all managed nodes that `status` shows. */
export interface ClusterTotals {
  readonly managed: number;
  readonly byClass: Readonly<Record<SchedulableClass, number>>;
  /** Sum of the nodes with a reading; undefined if nodes are awake and none of those has one. A node that is off reads 0. */
  readonly drawn: Watts | undefined;
  /** What the nodes with a reading may draw under their caps, to compare with `drawn`. */
  readonly budgetWithPower: Watts;
  readonly budget: Watts;
  readonly uncapped: Watts;
  /** Nodes whose power is measured now, not estimated. */
  readonly measured: number;
  readonly withPower: number;
  /** Undefined if the pods cannot be read. */
  readonly pods: number | undefined;
  readonly podsByClass: Readonly<Record<WorkloadClass, number>> | undefined;
}

const measuringSources: ReadonlySet<PowerSource | undefined> = new Set(["kepler", "agent", "http", "prometheus"]);
type SourceFields = Partial<Pick<NodeSummary, "source" | "estimatedGpuPowerW">>;
export const isMeasured = ({ source, estimatedGpuPowerW }: SourceFields): boolean =>
  measuringSources.has(source) && estimatedGpuPowerW === undefined;
/** `kepler, GPUs estimated`. */
export const sourceText = ({ source, estimatedGpuPowerW }: SourceFields): string =>
  `${source ?? "no source"}${estimatedGpuPowerW === undefined ? "" : ", GPUs estimated"}`;
export const isManaged = ({ eligibility }: Pick<NodeSummary, "eligibility">): boolean => eligibility !== "unmanaged";

export function totalsOver(nodes: readonly NodeSummary[]): ClusterTotals {
  const managed = nodes.filter(isManaged);
  const byClass = { performance: 0, eco: 0, draining: 0, asleep: 0, unknown: 0 };
  const withPower = managed.filter((node) => node.drawn !== undefined);
  for (const node of managed) byClass[node.schedulableClass]++;
  // Nodes that are off would make a sum of 0 W when the operator refreshes no twin any more.
  const isOff = ({ powerState }: NodeSummary) => powerState === "off";
  const isKnown = withPower.length > 0 && (managed.every(isOff) || !withPower.every(isOff));
  const sum = (of: readonly NodeSummary[], figure: "drawn" | "budget" | "uncapped"): Watts =>
    watts(of.reduce((total, node) => total + (node[figure] ?? 0), 0));
  return {
    managed: managed.length,
    byClass,
    drawn: isKnown ? sum(withPower, "drawn") : undefined,
    budgetWithPower: sum(withPower, "budget"),
    budget: sum(managed, "budget"),
    uncapped: sum(managed, "uncapped"),
    measured: withPower.filter(isMeasured).length,
    withPower: withPower.length,
    ...podTotals(managed),
  };
}

function podTotals(nodes: readonly NodeSummary[]): Pick<ClusterTotals, "pods" | "podsByClass"> {
  let pods = 0;
  let performance = 0;
  for (const node of nodes) {
    if (node.pods === undefined || node.performancePods === undefined)
      return { pods: undefined, podsByClass: undefined };
    pods += node.pods;
    performance += node.performancePods;
  }
  return { pods, podsByClass: { performance, standard: pods - performance } };
}
