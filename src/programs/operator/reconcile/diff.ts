import { isDeepStrictEqual } from "node:util";
import type { Condition, NodePowerProfileSpec, NodeTwinSpec, NodeTwinStatus } from "../../../core/api/index.ts";
import { type ClusterSnapshot, isMirror, type NodePlan, statusToPublish } from "../../../core/planning/index.ts";
import { hasSameCaps, observedStateOf } from "../../../core/policy/index.ts";
import { isTwinWorthPublishing } from "../../../core/twin/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { OperatorSettings } from "../settings.ts";

/** One write. The steps of a node are written in order; after a failure the rest is skipped. */
export type WriteStep =
  | {
      readonly kind: "spec";
      readonly spec: NodeTwinSpec;
      readonly nodeUid: string;
      readonly resourceVersion?: string | undefined;
    }
  | { readonly kind: "status"; readonly status: NodeTwinStatus; readonly heartbeat: boolean }
  | { readonly kind: "labels"; readonly labels: Readonly<Record<string, string>> }
  | {
      readonly kind: "mirror";
      readonly spec: NodePowerProfileSpec;
      readonly nodeUid: string;
      readonly resourceVersion?: string | undefined;
    }
  | { readonly kind: "unmirror"; readonly uid: string };

export interface NodeDiff {
  readonly steps: readonly WriteStep[];
  /** The steps downgrade a node without performance pods. They must not be written if such a pod arrived meanwhile. */
  readonly needsNoPerformancePods: boolean;
  /** The spec step sets eco caps. */
  readonly lowersCaps: boolean;
  /** The spec step changes the node's state. */
  readonly changesState: boolean;
  /** The next step of a downgrade waits for these writes. */
  readonly needsAnotherPass: boolean;
}

export interface DiffContext {
  readonly now: Instant;
  readonly settings: OperatorSettings;
  readonly heartbeatDue: boolean;
  readonly failure: { readonly step: string; readonly message: string } | undefined;
}

const noDiff: NodeDiff = {
  steps: [],
  needsNoPerformancePods: false,
  lowersCaps: false,
  changesState: false,
  needsAnotherPass: false,
};

/**
 * The writes that make the cluster match the plan, in a fixed order. A downgrade writes class and labels before the spec, and
 * eco caps only to a node that already publishes eco. An upgrade writes the labels last.
 */
export function diffNode(plan: NodePlan, snapshot: ClusterSnapshot, context: DiffContext): NodeDiff {
  const { settings } = context;
  const node = snapshot.node(plan.name);
  if (node === undefined) return noDiff;
  const twin = snapshot.twin(plan.name);
  const observed = observedStateOf(node, twin, {
    caps: plan.managed.caps,
    powerProfileLabel: settings.labels.powerProfile,
  });
  const moves = observed.state !== plan.next.state;
  const isDowngrade = plan.next.state !== "ActivePerformance";

  const owned = twin?.metadata.ownerReferences?.some(({ uid }) => uid === node.metadata.uid) === true;
  const specDiffers = twin === undefined || !owned || !isSameSpec(twin.spec, plan.spec, context);
  const lowers = specDiffers && plan.next.caps === "eco" && observed.caps !== "eco";
  const changesEcoCaps = plan.next.caps === "eco" && twin !== undefined && !hasSameCaps(twin.spec, plan.spec);
  const tooEarly = lowers && plan.next.state === "ActiveEco" && !observed.showsEco;
  const spec: WriteStep[] =
    specDiffers && !tooEarly ? [{ kind: "spec", spec: plan.spec, nodeUid: node.metadata.uid }] : [];
  const status = statusStep(plan, twin?.status, context);
  const labels = labelStep(plan, node.metadata.labels ?? {});

  const failure = spec.length > 0 ? failureStep(twin?.status, context) : [];
  const ordered =
    isDowngrade && twin !== undefined ? [...status, ...labels, ...spec] : [...failure, ...spec, ...status, ...labels];
  return {
    steps: [...ordered, ...mirrorStep(plan, snapshot, node.metadata.uid, settings)],
    needsNoPerformancePods: plan.next.state === "ActiveEco" && (moves || lowers || changesEcoCaps),
    lowersCaps: lowers && spec.length > 0,
    changesState: moves && spec.length > 0,
    needsAnotherPass:
      isDowngrade &&
      (spec.length > 0 || labels.length > 0 || twin?.status?.schedulableClass !== plan.status.schedulableClass),
  };
}

/** An older operator's spec gets `caps` with its next heartbeat: an older CRD drops them again. */
function isSameSpec(published: NodeTwinSpec, wanted: NodeTwinSpec, { heartbeatDue }: DiffContext): boolean {
  if (published.caps !== undefined || heartbeatDue) return isDeepStrictEqual(published, wanted);
  const { caps: _, ...rest } = wanted;
  return isDeepStrictEqual(published, rest);
}

function labelStep({ labels }: NodePlan, present: Readonly<Record<string, string>>): WriteStep[] {
  const differing = Object.entries(labels).filter(([key, value]) => present[key] !== value);
  return differing.length === 0 ? [] : [{ kind: "labels", labels: Object.fromEntries(differing) }];
}

/** If the spec comes first and was rejected, the steps after it are not reached. So the failure is reported before it. */
function failureStep(published: NodeTwinStatus | undefined, { failure, now }: DiffContext): WriteStep[] {
  if (published === undefined || failure?.step !== "spec") return [];
  const condition = conditionOf(published.conditions, failure.message, now);
  if (isSameCondition(published.conditions, condition)) return [];
  const { controlStatus: _, power: __, ...rest } = published;
  return [{ kind: "status", status: { ...rest, conditions: [condition] }, heartbeat: false }];
}

function statusStep(plan: NodePlan, published: NodeTwinStatus | undefined, context: DiffContext): WriteStep[] {
  const condition = conditionOf(published?.conditions, context.failure?.message, context.now);
  const heartbeat = published !== undefined && context.heartbeatDue;
  const hasChanged =
    isTwinWorthPublishing(published, plan.status) || !isSameCondition(published?.conditions, condition);
  if (!hasChanged && !heartbeat) return [];
  const status = { ...statusToPublish(plan, published, context.now), conditions: [condition] };
  return [{ kind: "status", status, heartbeat: !hasChanged }];
}

/** A user's NodePowerProfile is never changed. A mirror is deleted when mirroring is off. */
function mirrorStep(
  plan: NodePlan,
  snapshot: ClusterSnapshot,
  nodeUid: string,
  settings: OperatorSettings,
): WriteStep[] {
  const profile = snapshot.profile(plan.name);
  if (profile !== undefined && !isMirror(profile)) return [];
  const { uid = "", resourceVersion } = profile?.metadata ?? {};
  if (!settings.mirrors) return profile === undefined ? [] : [{ kind: "unmirror", uid }];
  // What a pin cannot set is not mirrored.
  const { power: _power, caps: _caps, ...spec } = plan.spec;
  if (profile !== undefined && isDeepStrictEqual(profile.spec, spec)) return [];
  return [{ kind: "mirror", spec, nodeUid, resourceVersion }];
}

const PUBLISHED = "Published";
const MAX_MESSAGE_LENGTH = 1000;

/** The Published condition of a NodeTwin: whether the operator could write everything it decided about the node. */
function conditionOf(
  published: readonly Condition[] | undefined,
  failure: string | undefined,
  now: Instant,
): Condition {
  const status = failure === undefined ? "True" : "False";
  const last = published?.find(({ type }) => type === PUBLISHED);
  return {
    type: PUBLISHED,
    status,
    reason: failure === undefined ? "Written" : "WriteFailed",
    message: failure?.slice(0, MAX_MESSAGE_LENGTH) ?? "all decisions about this node are written",
    lastTransitionTime: last?.status === status ? last.lastTransitionTime : new Date(now).toISOString(),
  };
}

const isSameCondition = (published: readonly Condition[] | undefined, { type, status, reason }: Condition): boolean =>
  published?.some((one) => one.type === type && one.status === status && one.reason === reason) === true;
