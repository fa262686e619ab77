import type { Labels, NodeSelectorRequirement, NodeSelectorTerm, Pod } from "../../../core/api/index.ts";

// Which nodes a pod may and wants to stand on by its own words, as kube-scheduler reads them.

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

function tolerates({ key = "", operator = "Equal", value = "", effect = "" }: Toleration, taint: Taint): boolean {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key === "") return operator === "Exists";
  if (key !== taint.key) return false;
  return operator === "Exists" || (operator === "Equal" && value === (taint.value ?? ""));
}

/** The first taint that keeps the pod away; PreferNoSchedule only asks, and asks nobody here. */
export const untolerated = (taints: readonly Taint[], tolerations: readonly Toleration[]): Taint | undefined =>
  taints.find(
    (taint) =>
      (taint.effect === "NoSchedule" || taint.effect === "NoExecute") &&
      !tolerations.some((toleration) => tolerates(toleration, taint)),
  );

type Holds = (value: string | undefined, values: readonly string[]) => boolean;

/** Gt and Lt compare whole numbers; anything else they meet does not match. */
const compares =
  (holds: (label: number, bound: number) => boolean): Holds =>
  (value, values) => {
    const [label, bound] = [value, values[0]].map((text) => (/^-?\d+$/.test(text ?? "") ? Number(text) : Number.NaN));
    return values.length === 1 && holds(label ?? Number.NaN, bound ?? Number.NaN);
  };

const operators: Readonly<Record<string, Holds>> = {
  In: (value, values) => value !== undefined && values.includes(value),
  NotIn: (value, values) => values.length > 0 && (value === undefined || !values.includes(value)),
  Exists: (value) => value !== undefined,
  DoesNotExist: (value) => value === undefined,
  Gt: compares((label, bound) => label > bound),
  Lt: compares((label, bound) => label < bound),
};

function meets({ key, operator, values }: NodeSelectorRequirement, labels: Labels): boolean {
  const holds = Object.hasOwn(operators, operator) ? operators[operator] : undefined;
  return holds?.(Object.hasOwn(labels, key) ? labels[key] : undefined, values ?? []) ?? false;
}

/** A term without requirements matches nothing; fields know only the node's name. */
function termMeets(term: NodeSelectorTerm, labels: Labels, name: string): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  return (
    expressions.every((requirement) => meets(requirement, labels)) &&
    fields.every((requirement) => requirement.key === "metadata.name" && meets(requirement, { "metadata.name": name }))
  );
}

/** nodeSelector and required node affinity: both have to hold, and of the affinity's terms one. */
export function admitsNode({ nodeSelector, affinity }: Pod["spec"], labels: Labels, name: string): boolean {
  // Asked for every node: no list is made of what is read once.
  for (const key in nodeSelector) {
    if (!Object.hasOwn(labels, key) || labels[key] !== nodeSelector[key]) return false;
  }
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || (required.nodeSelectorTerms ?? []).some((term) => termMeets(term, labels, name));
}
