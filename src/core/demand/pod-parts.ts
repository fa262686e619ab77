import type { NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec } from "../api/index.ts";

/**
 * Types promise what JSON need not keep: an object may lack its spec or its metadata, and a list hold null. Such a part asks for
 * nothing; no pod may cost the others their pass.
 */
export const specOf = (pod: Pod): PodSpec => pod.spec ?? {};

export const annotationOf = (pod: Pod, name: string): string | undefined => pod.metadata?.annotations?.[name];

/** Undefined where no node affinity is required; without terms it is required and matches nothing. */
export function requiredTerms(spec: PodSpec): readonly NodeSelectorTerm[] | undefined {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required ? itemsOf(required.nodeSelectorTerms) : undefined;
}

const nothing: readonly never[] = [];

export const itemsOf = <Item>(list: readonly Item[] | undefined): readonly Item[] =>
  Array.isArray(list) ? list.filter(isThere) : nothing;

/** As itemsOf, but an item that is null stays, as one that nobody can read: leaving it out would loosen the term it stands in. */
export const requirementsOf = (
  list: readonly NodeSelectorRequirement[] | undefined,
): readonly (NodeSelectorRequirement | undefined)[] => (Array.isArray(list) ? list : nothing);

const isThere = (item: unknown): boolean => item !== null && item !== undefined;
