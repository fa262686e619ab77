import {
  isLabelKey,
  isLabelValue,
  labels,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type Pod,
  type PodSpec,
  type Profile,
} from "../api/index.ts";
import { itemsOf, requiredTerms, requirementsOf, specOf } from "./pod-parts.ts";

/** Which profiles a pod's required scheduling constraints leave it. */
export type PowerConstraint = "performance-only" | "eco-only" | "general";

/**
 * Only what the scheduler must obey counts: nodeSelector and required node affinity; a preference is no constraint.
 *
 * A pod whose constraints admit neither profile (they contradict, or ask for a node without the label) excludes eco, so it
 * is performance-only: should it sit on a node all the same, the guard keeps that node from slowing it down.
 */
export function powerConstraintOf(pod: Pod, powerProfileLabel: string = labels.powerProfile): PowerConstraint {
  const spec = specOf(pod);
  // Terms are ORed; kube-scheduler matches nothing where there are none.
  const terms = requiredTerms(spec)?.filter(isValid);
  const admits = (profile: Profile) =>
    selectorAdmits(spec.nodeSelector, powerProfileLabel, profile) &&
    (terms === undefined || terms.some((term) => termAdmits(term, powerProfileLabel, profile)));
  if (!admits("eco")) return "performance-only";
  return admits("performance") ? "general" : "eco-only";
}

const selectorAdmits = (selector: PodSpec["nodeSelector"], key: string, profile: Profile): boolean =>
  !selector || !Object.hasOwn(selector, key) || selector[key] === profile;

/** Expressions are ANDed. As in kube-scheduler an empty term matches nothing, nor does a term with an invalid expression. */
function isValid({ matchExpressions, matchFields }: NodeSelectorTerm): boolean {
  const expressions = requirementsOf(matchExpressions);
  const fields = requirementsOf(matchFields);
  return expressions.length + fields.length > 0 && fields.every(isValidField) && expressions.every(isValidExpression);
}

/** Of a valid term: whether some node with this profile can satisfy it, whatever its other labels have to be. */
const termAdmits = ({ matchExpressions }: NodeSelectorTerm, label: string, profile: Profile): boolean =>
  itemsOf(matchExpressions).every(
    ({ key, operator, values }) => key !== label || operators.get(operator)?.admits(itemsOf(values), profile),
  );

function isValidExpression(requirement: NodeSelectorRequirement | undefined): boolean {
  if (!requirement) return false;
  const { key, operator, values } = requirement;
  const given = itemsOf(values);
  return (
    operators.get(operator)?.valid(given) === true &&
    typeof key === "string" &&
    isLabelKey(key) &&
    given.every(isLabelValue)
  );
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
const operators: ReadonlyMap<string, Operator> = new Map([
  ["In", { valid: some, admits: (values, profile) => values.includes(profile) }],
  ["NotIn", { valid: some, admits: (values, profile) => !values.includes(profile) }],
  ["Exists", { valid: none, admits: () => true }],
  ["DoesNotExist", { valid: none, admits: never }],
  ["Gt", { valid: oneInteger, admits: never }],
  ["Lt", { valid: oneInteger, admits: never }],
] satisfies [string, Operator][]);

/** Fields name nodes, as in a DaemonSet's pods: they say nothing about the profile. */
const isValidField = (field: NodeSelectorRequirement | undefined): boolean =>
  (field?.operator === "In" || field?.operator === "NotIn") && field.values?.length === 1;
