import {
  apiGroup,
  asleepTaint,
  isReady,
  type LabelSelector,
  matchesLabels,
  type Node,
  type NodeTaint,
  type NodeTwinSpec,
  type Profile,
} from "../api/index.ts";

/**
 * Only eligible nodes are planned and count as supply. Unmanaged nodes have no target. All other nodes keep their last
 * target: they are reserved, or they cannot accept pods now.
 */
export type Eligibility = "eligible" | "unmanaged" | "reserved" | "cordoned" | "not ready" | "tainted";

export interface EligibilitySettings {
  readonly selector: LabelSelector;
  readonly reservedLabel: string;
}

export function eligibilityOf(node: Node, { selector, reservedLabel }: EligibilitySettings): Eligibility {
  const { labels } = node.metadata;
  if (!matchesLabels(selector, labels)) return "unmanaged";
  if (labels?.[reservedLabel] === "true") return "reserved";
  if (node.spec?.unschedulable === true) return "cordoned";
  if (!isReady(node)) return "not ready";
  return blockingTaintOf(node) === undefined ? "eligible" : "tainted";
}

/** The first taint that keeps pods off the node. PreferNoSchedule does not. */
export const blockingTaintOf = ({ spec }: Node): NodeTaint | undefined =>
  spec?.taints?.find(({ key, effect }) => blockingEffects.has(effect) && !isHarmless(key));

const blockingEffects: ReadonlySet<string> = new Set(["NoSchedule", "NoExecute"]);

/** Taints that GPU nodes commonly carry so that only GPU pods run there. They do not make a node ineligible. */
const gpuTaints: ReadonlySet<string> = new Set(["nvidia.com/gpu", "amd.com/gpu"]);
const harmlessPrefixes = ["gpu.intel.com/", `${apiGroup}/`];

const isHarmless = (key: string): boolean =>
  key !== asleepTaint.key && (gpuTaints.has(key) || harmlessPrefixes.some((prefix) => key.startsWith(prefix)));

/**
 * The profile to pass to the guard for a managed node that is not eligible: its last target. So its target stays, while a
 * draining node is still re-checked and released. Undefined for a node that never had a target; it gets none.
 */
export const lastTargetProfile = (spec: NodeTwinSpec | undefined): Profile | undefined => spec?.profile;
