import type { PolicyType } from "../../core/policy/index.ts";

/** Placement methods: bin-packing, spreading, kube-scheduler's defaults, and the production code. */
export const arms = ["most", "least", "kube", "joulie", "energy"] as const;

/** Operator policies; `none` = no node is ever capped. */
const policies = ["queue_aware_v1", "static_partition", "fit_aware_v1", "none"] as const satisfies readonly (
  | PolicyType
  | "none"
)[];
export type PolicyName = (typeof policies)[number];

/** Default policy of the joulie arm, as in the demo. An installed operator defaults to static_partition. */
const DEFAULT_POLICY: PolicyName = "queue_aware_v1";

/** The policy that goes with SCORING=energy. */
const ENERGY_POLICY: PolicyName = "fit_aware_v1";

/** An arm and a policy that are run and compared. */
export interface Contender {
  /** One of `arms`; the published experiment has its own. */
  readonly arm: string;
  readonly policy: PolicyName;
  /** Empty nodes are switched off. */
  readonly sleep?: true;
}

const SLEEP = "+sleep";

export const CONTENDER = `ARM, ARM${SLEEP} or either with :POLICY, ARM one of ${arms.join(", ")}, POLICY one of ${policies.join(", ")}`;

/** Parses `joulie`, `least:static_partition` or `energy+sleep`. Only the arms joulie and energy have caps by default. */
export function parseContender(text: string): Contender | undefined {
  const [armText = "", policyText, ...rest] = text.trim().split(":");
  const sleeps = armText.endsWith(SLEEP);
  const name = sleeps ? armText.slice(0, -SLEEP.length) : armText;
  const arm = arms.find((candidate) => candidate === name);
  const byDefault = arm === "joulie" ? DEFAULT_POLICY : arm === "energy" ? ENERGY_POLICY : "none";
  const policy = policyText === undefined ? byDefault : policies.find((candidate) => candidate === policyText);
  if (arm === undefined || policy === undefined || rest.length > 0) return undefined;
  return { arm, policy, ...(sleeps && { sleep: true }) };
}

/**
 * Omits the policy for arms without an operator, and that of the energy arm if it is the usual one. The arms joulie and
 * energy always have an operator: with policy none it publishes twins but sets no caps.
 */
export function contenderName({ arm, policy, sleep }: Contender): string {
  const name = sleep === true ? `${arm}${SLEEP}` : arm;
  if (arm === "energy" && policy === ENERGY_POLICY) return name;
  return policy === "none" && arm !== "joulie" && arm !== "energy" ? name : `${name}:${policy}`;
}
