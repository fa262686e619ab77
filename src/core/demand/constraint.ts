import {
  isLabelKey,
  isLabelValue,
  labels,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type Pod,
  type Profile,
} from "../api/index.ts";

/** Which profiles a pod's required scheduling constraints leave it. */
export type PowerConstraint = "performance-only" | "eco-only" | "general";

/**
 * Only what the scheduler must obey counts: nodeSelector and required node affinity; a preference is no constraint.
 *
 * A pod whose constraints admit neither profile (they contradict, or ask for a node without the label) excludes eco, so it
 * is performance-only: should it sit on a node all the same, the guard keeps that node from slowing it down.
 */
export function powerConstraintOf(pod: Pod, powerProfileLabel: string = labels.powerProfile): PowerConstraint {
  if (!admits(pod, powerProfileLabel, "eco")) return "performance-only";
  return admits(pod, powerProfileLabel, "performance") ? "general" : "eco-only";
}

/** Whether some node with this profile can satisfy the constraints, whatever its other labels have to be. */
function admits({ spec }: Pod, key: string, profile: Profile): boolean {
  const { nodeSelector } = spec;
  if (nodeSelector && Object.hasOwn(nodeSelector, key) && nodeSelector[key] !== profile) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return true;
  // Terms are ORed; kube-scheduler matches nothing where there are none. JSON may hold null for an empty list.
  return (required.nodeSelectorTerms ?? []).some((term) => termAdmits(term, key, profile));
}

/** Expressions are ANDed. As in kube-scheduler an empty term matches nothing, nor does a term with an invalid expression. */
function termAdmits(term: NodeSelectorTerm, key: string, profile: Profile): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  return fields.every(isValidField) && expressions.every((expression) => expressionAdmits(expression, key, profile));
}

function expressionAdmits(
  { key, operator, values }: NodeSelectorRequirement,
  label: string,
  profile: Profile,
): boolean {
  const rule = Object.hasOwn(operators, operator) ? operators[operator] : undefined;
  const given = values ?? [];
  if (rule === undefined || !isLabelKey(key) || !rule.valid(given) || !given.every(isLabelValue)) return false;
  return key !== label || rule.admits(given, profile);
}

interface Operator {
  readonly valid: (values: readonly string[]) => boolean;
  /** For a node that carries the label with this profile. */
  readonly admits: (values: readonly string[], profile: Profile) => boolean;
}

const some = (values: readonly string[]) => values.length > 0;
const none = (values: readonly string[]) => values.length === 0;
const oneInteger = (values: readonly string[]) => values.length === 1 && /^\d+$/.test(values[0] ?? "");
const never = () => false;

/** Gt and Lt compare integers, and no profile is one. */
const operators: Readonly<Record<string, Operator>> = {
  In: { valid: some, admits: (values, profile) => values.includes(profile) },
  NotIn: { valid: some, admits: (values, profile) => !values.includes(profile) },
  Exists: { valid: none, admits: () => true },
  DoesNotExist: { valid: none, admits: never },
  Gt: { valid: oneInteger, admits: never },
  Lt: { valid: oneInteger, admits: never },
};

/** Fields name nodes, as in a DaemonSet's pods: they say nothing about the profile. */
const isValidField = ({ operator, values }: NodeSelectorRequirement): boolean =>
  (operator === "In" || operator === "NotIn") && values?.length === 1;
