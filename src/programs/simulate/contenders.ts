import type { PolicyType } from "../../core/policy/index.ts";
import { dropArms } from "./placement/arms.ts";

/** How nodes are chosen: the published experiment's arms, and the production code. */
export const arms = [...dropArms, "joulie"] as const;
type ArmName = (typeof arms)[number];

/** What the operator does meanwhile; `none` = no node is ever capped. */
export const policies = ["queue_aware_v1", "static_partition", "none"] as const satisfies readonly (
  | PolicyType
  | "none"
)[];
export type PolicyName = (typeof policies)[number];

/** Beside the arm joulie, as in the demo. An operator that is installed without a word about it has static_partition. */
export const DEFAULT_POLICY: PolicyName = "queue_aware_v1";

/** What is run, and compared. */
export interface Contender {
  readonly arm: ArmName;
  readonly policy: PolicyName;
}

export const CONTENDER = `ARM or ARM:POLICY, ARM one of ${arms.join(", ")}, POLICY one of ${policies.join(", ")}`;

/** `joulie` or `least:static_partition`. Only the production scheduler has an operator by default. */
export function parseContender(text: string, policyOfJoulie: PolicyName): Contender | undefined {
  const [name, policyText, ...rest] = text.trim().split(":");
  const arm = arms.find((candidate) => candidate === name);
  const byDefault = arm === "joulie" ? policyOfJoulie : "none";
  const policy = policyText === undefined ? byDefault : policies.find((candidate) => candidate === policyText);
  return arm === undefined || policy === undefined || rest.length > 0 ? undefined : { arm, policy };
}

/** With the policy, but for arms without an operator. Joulie has one always: with the policy none it publishes twins and caps nothing. */
export const contenderName = ({ arm, policy }: Contender): string =>
  policy === "none" && arm !== "joulie" ? arm : `${arm}:${policy}`;
