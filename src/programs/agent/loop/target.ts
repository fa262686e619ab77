import {
  labels,
  managedByOperator,
  type NodePowerProfile,
  type NodeTwin,
  type PowerTarget,
} from "../../../core/api/index.ts";
import { isTwinOf } from "../../../core/policy/index.ts";
import { formatDuration, type Milliseconds, percent } from "../../../core/units/index.ts";

/** What is known of a node in the cluster. */
export interface TargetFacts {
  /** False until the cluster was read once: then nothing of the rest says anything. */
  readonly synced: boolean;
  /** The Node, where it is in Joulie's scope. */
  readonly node?: { readonly metadata: { readonly name: string; readonly uid: string } } | undefined;
  readonly twin?: NodeTwin | undefined;
  readonly profile?: NodePowerProfile | undefined;
}

export interface LeaseSettings {
  /** 0 = for ever. */
  readonly lease: Milliseconds;
  readonly action: "restore" | "eco";
}

/** What to do about a node now. */
export type Intent =
  /** Nothing is known yet: what is in force stays. */
  | { readonly kind: "hold"; readonly why: string }
  /** What is in force goes; `managed` says whether the node still is one to report about. */
  | { readonly kind: "release"; readonly why: string; readonly managed: boolean }
  | ({ readonly kind: "enforce" } & Published);

interface Published {
  readonly target: PowerTarget;
  readonly from: string;
}

/** What the operator's variables say where nobody sets them; the agent does not know better without having seen an eco target. */
const USUAL_ECO = percent(60);

/** What the agent itself knows of a node. */
interface AgentKnowledge {
  /** How long the API has been out of reach. */
  readonly silence: Milliseconds;
  /** Whether something of ours is in force. */
  readonly holds: boolean;
  /** The last eco target that the node had. */
  readonly lastEco: PowerTarget | undefined;
}

/** What to do about a node, by what the cluster says and, while it says nothing, by the lease. */
export function intentOf(
  facts: TargetFacts,
  { silence, holds, lastEco }: AgentKnowledge,
  { lease, action }: LeaseSettings,
): Intent {
  if (facts.synced && facts.node === undefined)
    return { kind: "release", why: "the node is not managed", managed: false };
  // Whoever was never seen to be managed and has nothing of ours in force is nobody's to touch, lease or not.
  if (!facts.synced && !holds) return { kind: "hold", why: "the cluster was not read yet" };
  if (lease > 0 && silence >= lease) {
    const why = `no contact with the API for ${formatDuration(lease)} (TARGET_LEASE)`;
    if (action === "restore") return { kind: "release", why, managed: true };
    return { kind: "enforce", target: lastEco ?? usualEco(facts.node?.metadata.name ?? ""), from: why };
  }
  if (!facts.synced) return { kind: "hold", why: "the cluster was not read yet" };
  const published = publishedTarget(facts);
  return published === undefined
    ? { kind: "release", why: "no target is published", managed: true }
    : { kind: "enforce", ...published };
}

/**
 * The target of a node: its NodeTwin's spec, which is what the guard let through, and a person's NodePowerProfile only while there
 * is no NodeTwin.
 */
export function publishedTarget({ node, twin, profile }: TargetFacts): Published | undefined {
  if (node === undefined) return undefined;
  if (twin !== undefined && isTwinOf(node, twin)) return { target: twin.spec, from: "NodeTwin" };
  if (profile !== undefined && profile.metadata.labels?.[labels.managedBy] !== managedByOperator)
    return { target: profile.spec, from: "NodePowerProfile" };
  return undefined;
}

const usualEco = (nodeName: string): PowerTarget => ({
  nodeName,
  profile: "eco",
  cpu: { packagePowerCapPctOfMax: USUAL_ECO },
  gpu: { powerCap: { capPctOfMax: USUAL_ECO } },
});
