import {
  isLabelKey,
  isLabelValue,
  type Labels,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type NodeTaint,
  type Pod,
  type PodSpec,
  type Toleration,
} from "../api/index.ts";
import { itemsOf, requiredTerms, requirementsOf, specOf } from "./pod-parts.ts";

/**
 * The nodes that a pod may run on, apart from their free resources: node selector, required node affinity and tolerations.
 * Everything else that kube-scheduler checks is missing: pod affinity, topology spread, volumes, host ports, claims for
 * devices, and the filters of other extenders.
 */
export interface NodeConstraint {
  readonly selector?: Labels;
  /** ORed. Undefined if no affinity is required; an empty list matches no node. */
  readonly terms?: readonly NodeSelectorTerm[];
  readonly tolerations?: readonly Toleration[];
}

export interface ConstrainedNode {
  readonly name: string;
  readonly labels?: Labels | undefined;
  readonly taints?: readonly NodeTaint[] | undefined;
}

export function nodeConstraintOf(pod: Pod): NodeConstraint {
  const spec = specOf(pod);
  const selector = spec.nodeSelector && Object.keys(spec.nodeSelector).length > 0 ? spec.nodeSelector : undefined;
  const terms = validTerms(spec);
  const tolerations = itemsOf(spec.tolerations);
  if (selector === undefined && terms === undefined && tolerations.length === 0) return unconstrained;
  return {
    ...(selector && { selector }),
    ...(terms && { terms }),
    ...(tolerations.length > 0 && { tolerations }),
  };
}

const unconstrained: NodeConstraint = {};

/** Whether kube-scheduler's node affinity and taint filters let the pod run on the node. */
export const admitsNode = (constraint: NodeConstraint, node: ConstrainedNode): boolean =>
  selectsNode(constraint, node) && untoleratedTaint(constraint.tolerations, node.taints ?? []) === undefined;

/** Whether the node selector and the required node affinity of the pod match the node. */
export function selectsNode({ selector, terms }: NodeConstraint, node: ConstrainedNode): boolean {
  const { labels = {} } = node;
  for (const key in selector) if (!Object.hasOwn(labels, key) || labels[key] !== selector[key]) return false;
  return terms === undefined || terms.some((term) => matchesTerm(term, node, labels));
}

/** The first taint that keeps the pod off a node. PreferNoSchedule does not. */
export const untoleratedTaint = (
  tolerations: NodeConstraint["tolerations"],
  taints: readonly NodeTaint[],
): NodeTaint | undefined =>
  taints.find(
    (taint) =>
      (taint.effect === "NoSchedule" || taint.effect === "NoExecute") &&
      tolerations?.some((toleration) => tolerates(toleration, taint)) !== true,
  );

const matchesTerm = ({ matchExpressions, matchFields }: NodeSelectorTerm, node: ConstrainedNode, labels: Labels) =>
  itemsOf(matchFields).every((field) => field.key === "metadata.name" && matches(field, node.name)) &&
  itemsOf(matchExpressions).every((expression) =>
    matches(expression, Object.hasOwn(labels, expression.key) ? labels[expression.key] : undefined),
  );

/** The expression is valid: `validTerms` has dropped terms with other ones. */
export function matches({ operator, values }: NodeSelectorRequirement, value: string | undefined): boolean {
  const operands = itemsOf(values);
  switch (operator) {
    case "In":
      return value !== undefined && operands.includes(value);
    case "NotIn":
      return value === undefined || !operands.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
    case "Lt": {
      if (value === undefined || !/^-?\d+$/.test(value)) return false;
      const bound = Number(operands[0]);
      return operator === "Gt" ? Number(value) > bound : Number(value) < bound;
    }
    default:
      return false;
  }
}

function tolerates({ key = "", operator = "Equal", value = "", effect = "" }: Toleration, taint: NodeTaint): boolean {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  if (operator === "Exists") return true;
  // Without a key only `Exists` is valid.
  return operator === "Equal" && key !== "" && value === (taint.value ?? "");
}

/** The names of the only nodes that the constraint can admit. Undefined if it names none. A pod of a DaemonSet names one. */
export function namedNodesOf({ terms }: NodeConstraint): readonly string[] | undefined {
  if (terms === undefined) return undefined;
  const names: string[] = [];
  for (const { matchFields } of terms) {
    const named = itemsOf(matchFields).find(({ key, operator }) => key === "metadata.name" && operator === "In");
    if (named === undefined) return undefined;
    names.push(...itemsOf(named.values));
  }
  return names;
}

/** The required terms that can match a node; undefined if no node affinity is required. */
export const validTerms = (spec: PodSpec): readonly NodeSelectorTerm[] | undefined =>
  requiredTerms(spec)?.filter(isValid);

/** Expressions are ANDed. As in kube-scheduler, an empty term and a term with an invalid expression match nothing. */
function isValid({ matchExpressions, matchFields }: NodeSelectorTerm): boolean {
  const expressions = requirementsOf(matchExpressions);
  const fields = requirementsOf(matchFields);
  return expressions.length + fields.length > 0 && fields.every(isValidField) && expressions.every(isValidExpression);
}

function isValidExpression(requirement: NodeSelectorRequirement | undefined): boolean {
  if (!requirement) return false;
  const { key, operator, values } = requirement;
  if (typeof key !== "string" || !isLabelKey(key)) return false;
  const operands = itemsOf(values);
  const accepts = acceptedOperands.get(operator);
  return accepts !== undefined && accepts(operands) && operands.every(isLabelValue);
}

const some = (values: readonly string[]) => values.length > 0;
const none = (values: readonly string[]) => values.length === 0;
const oneInteger = (values: readonly string[]) => values.length === 1 && /^\d+$/.test(values[0] ?? "");

/** Which values each operator takes. */
const acceptedOperands: ReadonlyMap<string, (values: readonly string[]) => boolean> = new Map([
  ["In", some],
  ["NotIn", some],
  ["Exists", none],
  ["DoesNotExist", none],
  ["Gt", oneInteger],
  ["Lt", oneInteger],
]);

/** Field selectors name a node, as in the pods of a DaemonSet. */
const isValidField = (field: NodeSelectorRequirement | undefined): boolean =>
  (field?.operator === "In" || field?.operator === "NotIn") && field.values?.length === 1;
