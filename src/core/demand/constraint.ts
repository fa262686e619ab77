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

/** The profiles that a pod's required scheduling constraints allow. */
export type PowerConstraint = "performance-only" | "eco-only" | "general";

/**
 * Only hard constraints count: nodeSelector and required node affinity. Preferences are ignored.
 *
 * A pod whose constraints admit neither profile (they contradict, or require a node without the label) excludes eco, so it
 * is performance-only. If it runs on a node anyway, the guard protects it from eco caps.
 */
export function powerConstraintOf(pod: Pod, powerProfileLabel: string = labels.powerProfile): PowerConstraint {
  const spec = specOf(pod);
  // Terms are ORed. As in kube-scheduler, an empty list of terms matches nothing.
  const terms = validTerms(spec);
  const admits = (profile: Profile) =>
    selectorAdmits(spec.nodeSelector, powerProfileLabel, profile) &&
    (terms === undefined || terms.some((term) => termAdmits(term, powerProfileLabel, profile)));
  if (!admits("eco")) return "performance-only";
  return admits("performance") ? "general" : "eco-only";
}

/** The required terms that can match a node; undefined if no node affinity is required. */
export const validTerms = (spec: PodSpec): readonly NodeSelectorTerm[] | undefined =>
  requiredTerms(spec)?.filter(isValid);

const selectorAdmits = (selector: PodSpec["nodeSelector"], key: string, profile: Profile): boolean =>
  !selector || !Object.hasOwn(selector, key) || selector[key] === profile;

/** Expressions are ANDed. As in kube-scheduler, an empty term and a term with an invalid expression match nothing. */
function isValid({ matchExpressions, matchFields }: NodeSelectorTerm): boolean {
  const expressions = requirementsOf(matchExpressions);
  const fields = requirementsOf(matchFields);
  return expressions.length + fields.length > 0 && fields.every(isValidField) && expressions.every(isValidExpression);
}

/** Whether a node with this profile can satisfy a valid term, for any values of its other labels. */
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
  /** Evaluates the expression for a node whose label has this profile. */
  readonly admits: (values: readonly string[], profile: Profile) => boolean;
}

const some = (values: readonly string[]) => values.length > 0;
const none = (values: readonly string[]) => values.length === 0;
const oneInteger = (values: readonly string[]) => values.length === 1 && /^\d+$/.test(values[0] ?? "");
const never = () => false;

/** Gt and Lt compare integers, and no profile is an integer. */
const operators: ReadonlyMap<string, Operator> = new Map([
  ["In", { valid: some, admits: (values, profile) => values.includes(profile) }],
  ["NotIn", { valid: some, admits: (values, profile) => !values.includes(profile) }],
  ["Exists", { valid: none, admits: () => true }],
  ["DoesNotExist", { valid: none, admits: never }],
  ["Gt", { valid: oneInteger, admits: never }],
  ["Lt", { valid: oneInteger, admits: never }],
] satisfies [string, Operator][]);

/** Field selectors name nodes, as in the pods of a DaemonSet. They do not constrain the profile. */
const isValidField = (field: NodeSelectorRequirement | undefined): boolean =>
  (field?.operator === "In" || field?.operator === "NotIn") && field.values?.length === 1;
