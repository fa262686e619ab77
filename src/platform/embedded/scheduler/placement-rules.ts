import type { Labels, NodeSelectorRequirement, NodeSelectorTerm, Pod } from "../../../core/api/index.ts";

// A pod's own placement rules, by kube-scheduler's semantics: tolerations, nodeSelector and node affinity.

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

/** The first untolerated taint. This scheduler ignores PreferNoSchedule. */
export const untolerated = (taints: readonly Taint[], tolerations: readonly Toleration[]): Taint | undefined =>
  taints.find(
    (taint) =>
      (taint.effect === "NoSchedule" || taint.effect === "NoExecute") &&
      !tolerations.some((toleration) => tolerates(toleration, taint)),
  );

type Holds = (value: string | undefined, values: readonly string[]) => boolean;

/** Gt and Lt compare integers; other values do not match. */
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

/** A term without requirements matches nothing; matchFields supports only metadata.name. */
function termMeets(term: NodeSelectorTerm, labels: Labels, name: string): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  return (
    expressions.every((requirement) => meets(requirement, labels)) &&
    fields.every((requirement) => requirement.key === "metadata.name" && meets(requirement, { "metadata.name": name }))
  );
}

/** Both nodeSelector and required node affinity must match; of the affinity terms, one must. */
export function admitsNode({ nodeSelector, affinity }: Pod["spec"], labels: Labels, name: string): boolean {
  // Runs for every node, so it allocates no list.
  for (const key in nodeSelector) {
    if (!Object.hasOwn(labels, key) || labels[key] !== nodeSelector[key]) return false;
  }
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || (required.nodeSelectorTerms ?? []).some((term) => termMeets(term, labels, name));
}
