import type { PolicyType } from "../../core/policy/index.ts";
import { dropArms } from "./placement/arms.ts";

/** How nodes are chosen: the published experiment's arms, and the production code. */
export const arms = [...dropArms, "joulie"] as const;
type ArmName = (typeof arms)[number];

/** What the operator does meanwhile; `none` = there is no operator, and no node is capped. */
export const policies = ["queue_aware_v1", "static_partition", "none"] as const satisfies readonly (
  | PolicyType
  | "none"
)[];
export type PolicyName = (typeof policies)[number];

/** What is run, and compared. */
export interface Contender {
  readonly arm: ArmName;
  readonly policy: PolicyName;
}

export const CONTENDER = `ARM or ARM:POLICY, ARM one of ${arms.join(", ")}, POLICY one of ${policies.join(", ")}`;

/** `joulie` or `least:static_partition`. Only the production scheduler has an operator by default. */
export function contenderOf(text: string, policyOfJoulie: PolicyName): Contender | undefined {
  const [name, policyText, ...rest] = text.trim().split(":");
  const arm = arms.find((candidate) => candidate === name);
  const byDefault = arm === "joulie" ? policyOfJoulie : "none";
  const policy = policyText === undefined ? byDefault : policies.find((candidate) => candidate === policyText);
  return arm === undefined || policy === undefined || rest.length > 0 ? undefined : { arm, policy };
}

/** As it is written: the policy where it is not the arm's own. */
export const nameOf = ({ arm, policy }: Contender): string =>
  policy === "none" && arm !== "joulie" ? arm : `${arm}:${policy}`;
