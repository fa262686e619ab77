import type { NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec } from "../api/index.ts";

/**
 * Reads parts of a pod defensively. JSON may contradict the types: spec or metadata may be missing, and a list may contain
 * null. Such a part counts as empty, so that one malformed pod cannot fail the pass for all others.
 */
export const specOf = (pod: Pod): PodSpec => pod.spec ?? {};

export const annotationOf = (pod: Pod, name: string): string | undefined => pod.metadata?.annotations?.[name];

/** Undefined if no node affinity is required. An empty list is required and matches nothing. */
export function requiredTerms(spec: PodSpec): readonly NodeSelectorTerm[] | undefined {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required ? itemsOf(required.nodeSelectorTerms) : undefined;
}

const nothing: readonly never[] = [];

export const itemsOf = <Item>(list: readonly Item[] | undefined): readonly Item[] =>
  Array.isArray(list) ? list.filter(isThere) : nothing;

/** Like itemsOf, but retains null items as unreadable ones: dropping a requirement would loosen its term. */
export const requirementsOf = (
  list: readonly NodeSelectorRequirement[] | undefined,
): readonly (NodeSelectorRequirement | undefined)[] => (Array.isArray(list) ? list : nothing);

const isThere = (item: unknown): boolean => item !== null && item !== undefined;
