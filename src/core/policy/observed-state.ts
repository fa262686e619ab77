import type { Node, NodeTwin, NodeTwinSpec, Profile, TwinControlReport } from "../api/index.ts";
import type { CapIntents } from "./caps.ts";
import type { ProfileState } from "./transitions.ts";

declare const readBack: unique symbol;

/**
 * The state of a node as observed in the cluster. Only `observedStateOf` creates one, from objects that were read. Decisions
 * that were not written, or whose write was refused, do not count. So the guard needs no memory, and a restart loses nothing.
 */
export interface ObservedState extends ProfileState {
  /** Whether eco is published everywhere that schedulers look: the class for the extender, the label for selectors and affinities. */
  readonly showsEco: boolean;
  readonly [readBack]: true;
}

export interface ObservationSettings {
  /** Today's caps of the node. They matter only for a twin of an older operator. */
  readonly caps: Readonly<Record<Profile, CapIntents>>;
  /** POWER_PROFILE_LABEL. */
  readonly powerProfileLabel: string;
}

/** Pass the newest known objects: older ones could show an eco state that is already withdrawn. */
export function observedStateOf(
  node: Node,
  twin: Pick<NodeTwin, "spec" | "status"> | undefined,
  { caps, powerProfileLabel }: ObservationSettings,
): ObservedState {
  // The filter rejects a sleeping node for every pod, so its profile does not matter.
  const publishesEco = twin?.status?.schedulableClass === "eco" || twin?.status?.schedulableClass === "asleep";
  const showsEco = publishesEco && node.metadata.labels?.[powerProfileLabel] === "eco";
  return { ...powerStateOf(twin?.spec, caps), showsEco } as ObservedState;
}

/**
 * Whether the twin belongs to this node. A node may be deleted and recreated under the same name before its twin is garbage
 * collected; the old twin, including its eco caps, says nothing about the new node. A twin without an owner matches any node
 * of its name.
 */
export function isTwinOf(node: Pick<Node, "metadata">, { metadata }: Pick<NodeTwin, "metadata">): boolean {
  let ownedByNode = false;
  for (const { kind, uid } of metadata.ownerReferences ?? []) {
    if (kind !== "Node") continue;
    if (uid === node.metadata.uid) return true;
    ownedByNode = true;
  }
  return !ownedByNode;
}

const initial: ProfileState = { state: "ActivePerformance", caps: "performance" };

/** A performance node has performance caps by definition. */
function powerStateOf(spec: NodeTwinSpec | undefined, caps: ObservationSettings["caps"]): ProfileState {
  if (spec === undefined || spec.profile === "performance") return initial;
  return {
    state: spec.scheduling?.draining === true ? "DrainingPerformance" : "ActiveEco",
    caps: spec.caps?.profile ?? inferredProfile(spec, caps),
  };
}

/**
 * The profile of caps that an older operator wrote, without spec.caps. Settings and hardware may have changed since, so the caps
 * may match neither profile. They count as eco caps only if they are at most today's eco caps: performance is the safe assumption.
 */
function inferredProfile(spec: CapIntents, { performance, eco }: ObservationSettings["caps"]): Profile {
  if (hasSameCaps(spec, performance)) return "performance";
  return isWithin(cpuOf(spec), cpuOf(eco)) && isWithin(gpuOf(spec), gpuOf(eco)) ? "eco" : "performance";
}

interface Cap {
  readonly watts: number | undefined;
  readonly percent: number | undefined;
}

const cpuOf = ({ cpu }: CapIntents): Cap => ({
  watts: cpu?.packagePowerCapWatts,
  percent: cpu?.packagePowerCapPctOfMax,
});
const gpuOf = ({ gpu }: CapIntents): Cap => ({
  watts: gpu?.powerCap?.capWattsPerGpu,
  percent: gpu?.powerCap?.capPctOfMax,
});

const equals = (one: Cap, other: Cap): boolean => one.watts === other.watts && one.percent === other.percent;

export const hasSameCaps = (one: CapIntents, other: CapIntents): boolean =>
  equals(cpuOf(one), cpuOf(other)) && equals(gpuOf(one), gpuOf(other));

/** No cap contains every cap. Watts are compared with watts and percent with percent; other pairs are not comparable. */
const isWithin = (cap: Cap, most: Cap): boolean =>
  equals(most, uncapped) || (isAtMost(cap.watts, most.watts) && isAtMost(cap.percent, most.percent));

const uncapped: Cap = { watts: undefined, percent: undefined };

const isAtMost = (figure: number | undefined, limit: number | undefined): boolean =>
  figure === limit || (figure ?? Number.NaN) <= (limit ?? Number.NaN);

/**
 * Whether a node may be published as performance with these caps. Pods that need full speed are bound a moment later, so the
 * agent must have set the caps before: its receipt covers the spec that has them, and both devices accepted them.
 *
 * A node that is published as performance stays so. Without a receipt there is no agent to wait for: none has ever reported,
 * the last one restored all limits and stopped, or it is older than receipts.
 */
export function hasConfirmedCaps(twin: NodeTwin | undefined, wanted: CapIntents): boolean {
  const { schedulableClass, controlStatus } = twin?.status ?? {};
  const receipt = controlStatus?.observedGeneration;
  if (twin === undefined || schedulableClass === "performance" || receipt === undefined) return true;
  const isWritten = twin.spec.profile === "performance" && hasSameCaps(twin.spec, wanted);
  const isCovered = receipt >= (twin.metadata.generation ?? 0);
  return isWritten && isCovered && isSet(controlStatus?.cpu) && isSet(controlStatus?.gpu);
}

const isSet = (report: TwinControlReport | undefined): boolean =>
  report?.result === undefined || report.result === "applied" || report.result === "none";
