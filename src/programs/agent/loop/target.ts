import type { NodePowerProfile, NodeTwin, PowerTarget } from "../../../core/api/index.ts";
import { isTwinOf, pinFrom } from "../../../core/policy/index.ts";
import { formatDuration, type Instant, type Milliseconds, percent } from "../../../core/units/index.ts";

export interface TargetFacts {
  readonly synced: boolean;
  readonly node?: { readonly metadata: { readonly name: string; readonly uid: string } } | undefined;
  readonly twin?: NodeTwin | undefined;
  readonly profile?: NodePowerProfile | undefined;
}

export interface LeaseSettings {
  /** 0 means for ever. */
  readonly lease: Milliseconds;
  readonly action: "restore" | "eco";
}

/** What a tick does with a node's limits. */
export type Intent =
  /** The target is not known yet: limits in force stay. */
  | { readonly kind: "hold"; readonly why: string }
  /** Restore the original limits; `managed` says whether the node still gets a status. */
  | { readonly kind: "release"; readonly why: string; readonly managed: boolean }
  | ({ readonly kind: "enforce" } & Published);

interface Published {
  readonly target: PowerTarget;
  readonly from: string;
}

/** The operator's default eco cap, for an agent that has never seen an eco target. */
const DEFAULT_ECO = percent(60);

interface AgentKnowledge {
  readonly now: Instant;
  /** Time since the last contact with the API server. */
  readonly silence: Milliseconds;
  readonly holds: boolean;
  readonly lastEco: PowerTarget | undefined;
  readonly stopped: string | undefined;
}

/** By the stop switch, the published target, and without contact to the API server by TARGET_LEASE. */
export function intentOf(
  facts: TargetFacts,
  { now, silence, holds, lastEco, stopped }: AgentKnowledge,
  { lease, action }: LeaseSettings,
): Intent {
  if (facts.synced && facts.node === undefined)
    return { kind: "release", why: "the node is not managed", managed: false };
  // A node that was never seen as managed and has no limit of the agent is not touched, not even when the lease expires.
  if (!facts.synced && !holds) return { kind: "hold", why: "the watches have not synced yet" };
  if (stopped !== undefined) return { kind: "release", why: stopped, managed: true };
  if (lease > 0 && silence >= lease) {
    const why = `no contact with the API for ${formatDuration(lease)} (TARGET_LEASE)`;
    if (action === "restore") return { kind: "release", why, managed: true };
    return { kind: "enforce", target: lastEco ?? defaultEco(facts.node?.metadata.name ?? ""), from: why };
  }
  if (!facts.synced) return { kind: "hold", why: "the watches have not synced yet" };
  const published = publishedTarget(facts, now);
  return published === undefined
    ? { kind: "release", why: "no target is published", managed: true }
    : { kind: "enforce", ...published };
}

/** The spec of its NodeTwin, which the guard approved; a user's NodePowerProfile only while there is no NodeTwin. */
export function publishedTarget({ node, twin, profile }: TargetFacts, now: Instant): Published | undefined {
  if (node === undefined) return undefined;
  if (twin !== undefined && isTwinOf(node, twin)) return { target: twin.spec, from: "NodeTwin" };
  const pin = pinFrom(profile, now);
  return pin === undefined ? undefined : { target: pin, from: "NodePowerProfile" };
}

const defaultEco = (nodeName: string): PowerTarget => ({
  nodeName,
  profile: "eco",
  cpu: { packagePowerCapPctOfMax: DEFAULT_ECO },
  gpu: { powerCap: { capPctOfMax: DEFAULT_ECO } },
});
