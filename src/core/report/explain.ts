import type { Node, NodeHardwareStatus, Pod } from "../api/index.ts";
import { demandOf, expectedDurationOf, fitRequests, type WorkloadClass, workloadClassOf } from "../demand/index.ts";
import { type HardwareViewOptions, hardwareView } from "../inventory/index.ts";
import { isTwinOf } from "../policy/index.ts";
import {
  allocationScore,
  askingPodOf,
  type Batch,
  type Breakdown,
  balancedAllocationScore,
  batchOf,
  type CandidateNode,
  type EnergyBreakdown,
  type EnergySettings,
  energyNodeOf,
  energyScores,
  filterNode,
  type GpuMix,
  gpuMixOf,
  kubeResources,
  marginalJoules,
  type NodeLoad,
  nodeLoadOf,
  nonZeroRequests,
  runningPodOf,
  type ScoredPod,
  type ScoringSettings,
  scoreNode,
  type TwinState,
  twinStateOf,
} from "../scoring/index.ts";
import type { Instant } from "../units/index.ts";
import type { ClusterObjectsWithPods } from "./cluster-objects.ts";
import { kubeBlockers, type NodeReservations, reservationsOf } from "./kube-checks.ts";
import { podsOfNodes } from "./node-summary.ts";

/** How the extender scores and how kube-scheduler adds its answer up. */
export interface ExplainSettings {
  readonly scoring: ScoringSettings;
  /** Present with SCORING=energy. */
  readonly energy?: EnergySettings | undefined;
  /** False if nothing says how the extender scores: then only what keeps the pod off nodes is explained. */
  readonly isFormulaKnown?: boolean;
  readonly hardware?: HardwareViewOptions;
  /** `weight` of the extender in kube-scheduler's configuration. */
  readonly extenderWeight: number;
  /** kube-scheduler's own plugins: as by default, or as `joulie scheduler-config --energy` sets them. */
  readonly kubeProfile: "default" | "energy";
}

/** What Joulie and, as far as it knows, kube-scheduler say about one node. */
export interface NodeVerdict {
  readonly node: string;
  /** Why kube-scheduler's own filters keep the pod off. */
  readonly blockers: readonly string[];
  /** Why Joulie's filter keeps it off. */
  readonly rejection: string | undefined;
  /** The score that the extender gives; present also for nodes that are blocked. */
  readonly score: number;
  readonly headroom: Breakdown;
  /** Present with SCORING=energy. */
  readonly energy: EnergyBreakdown | undefined;
  /** What kube-scheduler's own resource scores add for this node. */
  readonly kubePoints: number;
  /** The sum by which kube-scheduler ranks: score × weight × 10 + its own points. */
  readonly total: number;
  readonly feasible: boolean;
}

/** Why a pod is where it is, or why it has no node. */
export interface PlacementExplanation {
  readonly pod: { readonly namespace: string; readonly name: string };
  readonly workloadClass: WorkloadClass;
  readonly cpuCores: number;
  readonly gpus: Readonly<Record<string, number>>;
  /** Which formula scores. If it is unknown, scores and ranks mean nothing. */
  readonly formula: "headroom" | "energy" | "unknown";
  readonly batch: Batch;
  /** The node that the pod is bound to. */
  readonly boundTo: string | undefined;
  /** Feasible nodes first, the highest total first; then the others by name. */
  readonly nodes: readonly NodeVerdict[];
}

/** kube-scheduler multiplies the scores of extenders by this: its own range is ten times as large as theirs. */
const EXTENDER_SCALE = 10;

/**
 * Decides about a pod as the extender does, with the same formulas, for every node of `objects`. The pod itself does not count
 * as a load, so that the answer for a bound pod is that of the moment before it was bound, as far as the objects have not
 * changed since.
 */
export function explainPlacement(
  pod: Pod,
  objects: ClusterObjectsWithPods,
  settings: ExplainSettings,
): PlacementExplanation {
  const { nodes, twins, hardware, now } = objects;
  const { workloadClass } = workloadClassOf(pod);
  const scored: ScoredPod = { workloadClass, demand: demandOf(pod) };
  const others = podsOfNodes(objects.pods.filter((other) => !isSamePod(pod, other)));
  const states = nodes.map((node): TwinState | undefined => {
    const twin = twins.get(node.metadata.name);
    return twin !== undefined && isTwinOf(node, twin) && twin.status !== undefined
      ? twinStateOf(twin.status)
      : undefined;
  });
  const batch = batchOf(states, now, settings.scoring);
  const candidates = nodes.map((node, at) =>
    candidateOf(node, states[at], hardware.get(node.metadata.name)?.status, settings),
  );
  const headroom = candidates.map((candidate) => scoreNode(scored, candidate, batch, settings.scoring));
  const pods = nodes.map(({ metadata }) => others.get(metadata.name) ?? []);
  const energy = energyOf(pod, scored, candidates, pods, now, settings);
  const reservations = nodes.map((node, at) => reservationsOf(node, pods[at] ?? []));
  const { powerProfile, draining } = settings.scoring.nodeLabels;
  const blockers = nodes.map((node, at) => kubeBlockers(pod, node, reservations[at] as NodeReservations));
  const asking = askingPodOf(pod, now);
  const rejections = nodes.map(({ metadata }, at) =>
    filterNode(workloadClass, states[at], metadata.labels?.[powerProfile], metadata.labels?.[draining], {
      node: metadata.name,
      pod: asking,
    }),
  );
  const feasible = nodes.map((_, at) => blockers[at]?.length === 0 && rejections[at] === undefined);
  const scores = scoresOf(headroom, energy, feasible, settings.scoring.scoreMax);
  const verdicts = nodes.map((node, at): NodeVerdict => {
    const score = scores[at] as number;
    const kubePoints = kubePointsOf(pod, reservations[at] as NodeReservations, pods[at] ?? [], settings.kubeProfile);
    return {
      node: node.metadata.name,
      blockers: blockers[at] ?? [],
      rejection: rejections[at],
      score,
      headroom: headroom[at] as Breakdown,
      energy: energy?.[at],
      kubePoints,
      total: score * settings.extenderWeight * EXTENDER_SCALE + kubePoints,
      feasible: feasible[at] === true,
    };
  });
  return {
    pod: { namespace: pod.metadata.namespace ?? "default", name: pod.metadata.name },
    workloadClass,
    cpuCores: scored.demand.cpuCores,
    gpus: Object.fromEntries(scored.demand.gpus),
    formula: formulaOf(settings),
    batch,
    boundTo: pod.spec?.nodeName || undefined,
    nodes: verdicts.toSorted(settings.isFormulaKnown === false ? byName : byRank),
  };
}

function formulaOf(settings: ExplainSettings): PlacementExplanation["formula"] {
  if (settings.isFormulaKnown === false) return "unknown";
  return settings.energy === undefined ? "headroom" : "energy";
}

const byName = (one: NodeVerdict, other: NodeVerdict): number =>
  Number(other.feasible) - Number(one.feasible) || (one.node < other.node ? -1 : 1);

const byRank = (one: NodeVerdict, other: NodeVerdict): number =>
  Number(other.feasible) - Number(one.feasible) ||
  (one.feasible ? other.total - one.total : 0) ||
  (one.node < other.node ? -1 : 1);

const isSamePod = ({ metadata: one }: Pod, { metadata: other }: Pod): boolean =>
  one.uid !== undefined && other.uid !== undefined
    ? one.uid === other.uid
    : one.name === other.name && (one.namespace ?? "default") === (other.namespace ?? "default");

const candidateOf = (
  node: Node,
  twin: TwinState | undefined,
  discovered: NodeHardwareStatus | undefined,
  settings: ExplainSettings,
): CandidateNode => ({
  twin,
  hardware: hardwareView(node, discovered, settings.hardware),
  labels: node.metadata.labels,
});

function energyOf(
  pod: Pod,
  { demand }: ScoredPod,
  candidates: readonly CandidateNode[],
  pods: readonly (readonly Pod[])[],
  now: Instant,
  { energy, scoring }: ExplainSettings,
): readonly EnergyBreakdown[] | undefined {
  if (energy === undefined) return undefined;
  const loads = candidates.map(({ hardware, labels }, at): NodeLoad | undefined => {
    const known = energyNodeOf(hardware, labels, energy);
    return known && nodeLoadOf(known, (pods[at] ?? []).map(runningPodOf));
  });
  const mix: GpuMix = gpuMixOf(loads.flatMap((load) => load?.gpuJobs ?? []));
  const { stalenessThreshold, facilityMetrics } = scoring;
  const placed = { demand, duration: expectedDurationOf(pod).duration };
  return candidates.map((candidate, at) =>
    marginalJoules(
      placed,
      { ...candidate, pods: loads[at] ?? [] },
      { now, mix, stalenessThreshold, facilityMetrics },
      energy,
    ),
  );
}

/** kube-scheduler asks for scores of feasible nodes only, and energy scores compare the nodes of one request. */
function scoresOf(
  headroom: readonly Breakdown[],
  energy: readonly EnergyBreakdown[] | undefined,
  feasible: readonly boolean[],
  scoreMax: number,
): readonly number[] {
  const byHeadroom = headroom.map(({ score }) => score);
  if (energy === undefined) return byHeadroom;
  const asked = energy.flatMap((_, at) => (feasible[at] === true ? [at] : []));
  const compared = asked.length > 0 ? asked : energy.map((_, at) => at);
  const found = energyScores(
    compared.map((at) => energy[at] as EnergyBreakdown),
    compared.map((at) => byHeadroom[at] as number),
    scoreMax,
  );
  const scores = energy.map(() => 0);
  compared.forEach((at, index) => {
    scores[at] = found[index] as number;
  });
  return scores;
}

/** The points of NodeResourcesFit and NodeResourcesBalancedAllocation. */
function kubePointsOf(
  pod: Pod,
  { allocatable, requested }: NodeReservations,
  pods: readonly Pod[],
  profile: ExplainSettings["kubeProfile"],
): number {
  const node = kubeResources(allocatable);
  const asked = kubeResources(fitRequests(pod));
  let assumed = { milliCpu: 0, memory: 0 };
  for (const other of pods) {
    const { milliCpu, memory } = nonZeroRequests(kubeResources(fitRequests(other)));
    assumed = { milliCpu: assumed.milliCpu + milliCpu, memory: assumed.memory + memory };
  }
  if (profile === "energy") return allocationScore(node, assumed, nonZeroRequests(asked), "MostAllocated");
  const least = allocationScore(node, assumed, nonZeroRequests(asked));
  if (asked.milliCpu === 0 && asked.memory === 0) return least;
  return least + balancedAllocationScore(node, kubeResources(requested), asked);
}
