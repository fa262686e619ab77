import {
  annotations,
  asleepTaint,
  awaitedPodOf,
  cyclesOn,
  isKeptFree,
  isReady,
  isWakeProven,
  labels,
  maySwitchOff,
  type NodeTwin,
  type WantedPower,
} from "../api/index.ts";
import { allocatableOf, isLostWithNode, occupiedNodes, type PodSummary, podRequests } from "../demand/index.ts";
import {
  hasControlPlaneRole,
  planSleep,
  type SleepNode,
  type SleepPlan,
  type SleepResult,
  sleepBarrierOf,
  zoneOf,
} from "../sleep/index.ts";
import { isoTime, watts } from "../units/index.ts";
import type { ClusterSnapshot, SnapshotNode } from "./cluster-snapshot.ts";
import type { ManagedNode } from "./node-plan.ts";
import type { PlanningInput } from "./planning-input.ts";
import type { SleepObservations } from "./sleep-observations.ts";

/** Undefined if sleep is off. */
export function sleepPlanOf(managed: readonly ManagedNode[], input: PlanningInput): SleepResult | undefined {
  const { snapshot, sleep, now } = input;
  const settings = input.settings.sleep;
  if (settings === undefined || settings.mode === "off" || sleep === undefined) return undefined;
  const { arrivals } = sleep;
  const byName = new Map(managed.map((one) => [one.name, one]));
  const nodes: SleepNode[] = [];
  const promised = promisedPods(snapshot.pods(), sleep);
  for (const node of snapshot.nodes()) {
    const { name } = node.metadata;
    nodes.push(sleepNodeOf(node, byName.get(name), promised.get(name), sleep, input));
  }
  const current = snapshot.current && sleep.current;
  const memory = input.memory.sleep;
  const result = planSleep({ nodes, pods: snapshot.pods(), current, arrivals, settings, memory, now });
  if (settings.mode !== "recommend") return result;
  const wantedOff = Array.from(result.plan.nodes.values()).filter(({ wanted }) => wanted === "off");
  const recommended = new Set(wantedOff.map(({ name }) => name));
  return { plan: result.plan, memory: { ...result.memory, recommended } };
}

/** Pods without a node that a scheduler has promised to a node. */
interface PromisedPods {
  readonly all: number;
  /** Without those that only a claim with a volume promises: such a claim may be from long ago, and wakes no node. */
  readonly certain: number;
}

function promisedPods(pods: Iterable<PodSummary>, sleep: SleepObservations): ReadonlyMap<string, PromisedPods> {
  const promised = new Map<string, PromisedPods>();
  for (const pod of pods) {
    if (pod.promise === undefined || !isLostWithNode(pod)) continue;
    const certain = occupiedNodes(pod, (claim) => {
      const selected = sleep.selectedNode(claim);
      return selected?.hasVolume === true ? undefined : selected?.node;
    });
    for (const node of occupiedNodes(pod, (claim) => sleep.selectedNode(claim)?.node)) {
      const before = promised.get(node) ?? { all: 0, certain: 0 };
      promised.set(node, { all: before.all + 1, certain: before.certain + (certain.has(node) ? 1 : 0) });
    }
  }
  return promised;
}

/** Whether a pod that would be lost with the node is bound or promised to it. */
export function isNodeOccupied(
  name: string,
  snapshot: Pick<ClusterSnapshot, "pods">,
  sleep: Pick<SleepObservations, "selectedNode">,
): boolean {
  for (const pod of snapshot.pods())
    if (isLostWithNode(pod) && occupiedNodes(pod, (claim) => sleep.selectedNode(claim)?.node).has(name)) return true;
  return false;
}

function sleepNodeOf(
  node: SnapshotNode,
  managed: ManagedNode | undefined,
  promised: PromisedPods | undefined,
  sleep: SleepObservations,
  { snapshot, settings, memory, now }: PlanningInput,
): SleepNode {
  const { name, uid } = node.metadata;
  const endpoint = sleep.endpoint(name);
  const { status } = endpoint ?? {};
  const twin = snapshot.twin(name);
  const isReal = settings.sleep?.mode === "on";
  const isRecommended = memory.sleep.recommended.has(name);
  // A node that is kept free for a pod stays on, as if the pod were there.
  let pods = isKeptFree(awaitedPodOf(twin?.status), now) ? 1 : 0;
  let servesStorage = false;
  let runsControlPlane = false;
  for (const pod of snapshot.podsOn(name)) {
    if (isLostWithNode(pod)) pods++;
    if (pod.servesStorage === true) servesStorage = true;
    if (pod.controlPlane === true) runsControlPlane = true;
  }
  const asked = node.metadata.labels?.[labels.maySleep] === "true";
  const power = powerOf(isReal ? twin : undefined);
  const { state } = power;
  const wanted = isRecommended && !isReal ? "off" : power.wanted;
  pods += (wanted === "off" ? promised?.certain : promised?.all) ?? 0;
  return {
    name,
    uid,
    fit: roomOf(node, isDown(twin), settings),
    managed: managed !== undefined,
    family: managed?.shape.hardware.family,
    zone: zoneOf(node.metadata.labels),
    ready: isReady(node),
    cordoned: node.spec?.unschedulable === true,
    wanted,
    state,
    lost: sleep.known && endpoint === undefined && state !== "on",
    lastReason: isReal ? twin?.spec.power?.reason : undefined,
    pods,
    asked,
    // After a restart a sleeping node satisfied every rule when it fell asleep; it is judged again once all is read.
    barrier:
      !sleep.known && wanted === "off"
        ? undefined
        : sleepBarrierOf({
            managed: managed !== undefined && managed.eligibility !== "reserved",
            maySleep: asked,
            controlPlane: runsControlPlane || hasControlPlaneRole(node.metadata.labels),
            endpoint: endpoint && {
              wakeProven: isWakeProven(endpoint),
              keepAwake: endpoint.metadata.annotations?.[annotations.keepAwake] === "true",
              maySwitchOff: maySwitchOff(endpoint),
              wakeFailed: status?.lastWake?.result === "failed",
            },
            localVolume: sleep.hasLocalVolume(name, node.metadata.labels),
            servesStorage,
          }),
    cyclesToday: cyclesOn(isoTime(now), status),
    wakeTime: status?.lastWake?.result === "succeeded" ? status.lastWake.seconds : undefined,
    idle: managed?.shape.idle ?? watts(0),
  };
}

/** Taints of a node that is off. They go when it is back. */
const unreadyTaints: ReadonlySet<string> = new Set(["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);

const powerOf = (twin: NodeTwin | undefined) => ({
  wanted: twin?.spec.power?.state ?? "on",
  state: twin?.status?.power?.state ?? "on",
});

/** Whether the node sleeps, falls asleep or wakes. */
function isDown(twin: NodeTwin | undefined): boolean {
  const { wanted, state } = powerOf(twin);
  return wanted === "off" || state !== "on";
}

function roomOf(node: SnapshotNode, sleeps: boolean, settings: PlanningInput["settings"]): SleepNode["fit"] {
  const { metadata, spec } = node;
  // The taints of a node that has just come back are removed seconds after it is on and Ready. Until then a pod that it was woken
  // for must not wake another one.
  const isPassing = (key: string) => key === asleepTaint.key || ((sleeps || isReady(node)) && unreadyTaints.has(key));
  const taints = (spec?.taints ?? []).filter(({ key }) => !isPassing(key));
  const allocatable = allocatableOf(node);
  const own = metadata.labels ?? {};
  // fit_aware_v1 makes the node performance if a pod needs that.
  const otherLabels =
    settings.policy.type === "fit_aware_v1"
      ? { ...own, [settings.labels.powerProfile]: "performance", [settings.labels.draining]: "false" }
      : undefined;
  return { labels: own, otherLabels, taints, allocatable, gpus: podRequests(allocatable).gpus };
}

/** `spec.power` of a node: absent while it is on and stays on, and with `recommend`, so that nodes that slept are woken. */
export function wantedPowerOf(
  name: string,
  plan: SleepPlan | undefined,
  { snapshot, settings }: PlanningInput,
): WantedPower | undefined {
  if (settings.sleep?.mode !== "on") return undefined;
  const twin = snapshot.twin(name);
  // A node that sleeps keeps its last target, so it needs one first: its NodeTwin is published before it sleeps.
  if (plan === undefined || twin === undefined) return undefined;
  const decision = plan.nodes.get(name);
  const isOn = (twin.status?.power?.state ?? "on") === "on" && twin.spec.power?.state !== "off";
  if (decision === undefined || (decision.wanted === "on" && isOn)) return undefined;
  return { state: decision.wanted, reason: decision.reason };
}
