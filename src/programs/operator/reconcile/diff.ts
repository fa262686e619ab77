import { isDeepStrictEqual } from "node:util";
import type { NodePowerProfileSpec, NodeTwinSpec, NodeTwinStatus } from "../../../core/api/index.ts";
import { type ClusterSnapshot, isMirror, type NodePlan, statusToPublish } from "../../../core/planning/index.ts";
import { observedStateOf } from "../../../core/policy/index.ts";
import { isWorthPublishing } from "../../../core/twin/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { OperatorSettings } from "../settings.ts";
import { conditionOf, isSameCondition } from "./published-condition.ts";

/** One write. A node's steps are taken in order, and one that fails ends them. */
export type WriteStep =
  | {
      readonly kind: "spec";
      readonly spec: NodeTwinSpec;
      readonly nodeUid: string;
      /** Over this version of the twin only, where it is given. */
      readonly resourceVersion?: string | undefined;
    }
  | { readonly kind: "status"; readonly status: NodeTwinStatus; readonly heartbeat: boolean }
  | { readonly kind: "labels"; readonly labels: Readonly<Record<string, string>> }
  | {
      readonly kind: "mirror";
      readonly spec: NodePowerProfileSpec;
      readonly nodeUid: string;
      /** Absent where there is none yet. */
      readonly resourceVersion?: string | undefined;
    }
  | { readonly kind: "unmirror"; readonly uid: string };

export interface NodeDiff {
  readonly steps: readonly WriteStep[];
  /** It takes a node down because no performance pod was there: should there be one after all, it must not be done. */
  readonly needsNoPerformancePods: boolean;
  /** The spec step brings eco caps. */
  readonly lowersCaps: boolean;
  /** The spec step moves the node from this state to the plan's. */
  readonly changesState: boolean;
  /** What it shows is what the next step of the way down waits for. */
  readonly needsAnotherPass: boolean;
}

export interface DiffContext {
  readonly now: Instant;
  readonly settings: OperatorSettings;
  /** Whether the twin is to be refreshed, even unchanged. */
  readonly heartbeatDue: boolean;
  /** What of this node could not be written the last time, and why. */
  readonly failure: { readonly step: string; readonly message: string } | undefined;
}

const nothing: NodeDiff = {
  steps: [],
  needsNoPerformancePods: false,
  lowersCaps: false,
  changesState: false,
  needsAnotherPass: false,
};

/**
 * What has to be written so that the cluster shows the plan; nothing when it does. The order is fixed: on the way down class and
 * labels come before the spec, and eco caps only to a node that shows eco already; on the way up the labels come last.
 */
export function diffNode(plan: NodePlan, view: ClusterSnapshot, context: DiffContext): NodeDiff {
  const { settings } = context;
  const node = view.node(plan.name);
  if (node === undefined) return nothing;
  const twin = view.twin(plan.name);
  const seen = observedStateOf(node, twin, {
    caps: plan.managed.shape.caps,
    pin: plan.managed.pin,
    powerProfileLabel: settings.labels.powerProfile,
  });
  const moves = seen.state !== plan.next.state;
  const goesDown = plan.next.state !== "ActivePerformance";

  const owned = twin?.metadata.ownerReferences?.some(({ uid }) => uid === node.metadata.uid) === true;
  const specDiffers = twin === undefined || !owned || !isDeepStrictEqual(twin.spec, plan.spec);
  // Where both profiles have the same caps they are never seen to be eco's, and there is nothing to lower.
  const lowers = specDiffers && plan.next.caps === "eco" && seen.caps !== "eco";
  const tooEarly = lowers && plan.next.state === "ActiveEco" && !seen.showsEco;
  const spec: WriteStep[] =
    specDiffers && !tooEarly ? [{ kind: "spec", spec: plan.spec, nodeUid: node.metadata.uid }] : [];
  const status = statusStep(plan, twin?.status, context);
  const labels = labelStep(plan, node.metadata.labels ?? {});

  const refusal = spec.length > 0 ? refusalStep(twin?.status, context) : [];
  const published =
    goesDown && twin !== undefined ? [...status, ...labels, ...spec] : [...refusal, ...spec, ...status, ...labels];
  return {
    steps: [...published, ...mirrorStep(plan, view, node.metadata.uid, settings)],
    needsNoPerformancePods: plan.next.state === "ActiveEco" && (moves || lowers),
    lowersCaps: lowers && spec.length > 0,
    changesState: moves && spec.length > 0,
    needsAnotherPass:
      goesDown &&
      (spec.length > 0 || labels.length > 0 || twin?.status?.schedulableClass !== plan.status.schedulableClass),
  };
}

function labelStep({ labels }: NodePlan, there: Readonly<Record<string, string>>): WriteStep[] {
  const differing = Object.entries(labels).filter(([key, value]) => there[key] !== value);
  return differing.length === 0 ? [] : [{ kind: "labels", labels: Object.fromEntries(differing) }];
}

/** Where the target comes first and is refused, nothing after it is written: that it is refused must be told before. */
function refusalStep(there: NodeTwinStatus | undefined, { failure, now }: DiffContext): WriteStep[] {
  if (there === undefined || failure?.step !== "spec") return [];
  const condition = conditionOf(there.conditions, failure.message, now);
  if (isSameCondition(there.conditions, condition)) return [];
  const { controlStatus: _agents, ...own } = there;
  return [{ kind: "status", status: { ...own, conditions: [condition] }, heartbeat: false }];
}

function statusStep(plan: NodePlan, there: NodeTwinStatus | undefined, context: DiffContext): WriteStep[] {
  const condition = conditionOf(there?.conditions, context.failure?.message, context.now);
  const heartbeat = there !== undefined && context.heartbeatDue;
  const hasChanged = isWorthPublishing(there, plan.status) || !isSameCondition(there?.conditions, condition);
  if (!hasChanged && !heartbeat) return [];
  const status = { ...statusToPublish(plan, there, context.now), conditions: [condition] };
  return [{ kind: "status", status, heartbeat: !hasChanged }];
}

/** What a person pinned is never touched; a mirror nobody wants any more goes. */
function mirrorStep(plan: NodePlan, view: ClusterSnapshot, nodeUid: string, settings: OperatorSettings): WriteStep[] {
  const profile = view.profile(plan.name);
  if (profile !== undefined && !isMirror(profile)) return [];
  const { uid = "", resourceVersion } = profile?.metadata ?? {};
  if (!settings.mirrors) return profile === undefined ? [] : [{ kind: "unmirror", uid }];
  if (profile !== undefined && isDeepStrictEqual(profile.spec, plan.spec)) return [];
  return [{ kind: "mirror", spec: plan.spec, nodeUid, resourceVersion }];
}
