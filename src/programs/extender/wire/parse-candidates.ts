import type { Candidates } from "./candidates.ts";

/** What JSON.parse reads from a request, for comparison with the byte scan. */
export interface ParsedCandidates {
  readonly names: readonly unknown[];
  readonly profiles: readonly unknown[];
  readonly drainings: readonly unknown[];
}

type Keyed = Readonly<Record<string, unknown>>;

/**
 * Reads a request with JSON.parse. The worker runs this function from its source text, so that no second bundle is needed: the
 * function must not use anything outside itself, and must not contain named functions.
 */
export function parseCandidates(text: string, profileLabel: string, drainingLabel: string): ParsedCandidates {
  const body = JSON.parse(text) as Keyed;
  let items: readonly unknown[] = [];
  let nodeNames: readonly unknown[] = [];
  for (const key of Object.keys(body)) {
    const value = body[key];
    if (key.toLowerCase() === "nodenames" && Array.isArray(value)) nodeNames = value;
    if (key.toLowerCase() === "nodes" && typeof value === "object" && value !== null) {
      const list = (value as Keyed)["items"];
      if (Array.isArray(list)) items = list;
    }
  }
  if (items.length === 0) return { names: nodeNames, profiles: [], drainings: [] };
  const names: unknown[] = [];
  const profiles: unknown[] = [];
  const drainings: unknown[] = [];
  for (const item of items) {
    const metadata = ((item ?? {}) as Keyed)["metadata"] ?? {};
    names.push((metadata as Keyed)["name"]);
    const labels = ((metadata as Keyed)["labels"] ?? {}) as Keyed;
    profiles.push(labels[profileLabel]);
    drainings.push(labels[drainingLabel]);
  }
  return { names, profiles, drainings };
}

/** The first candidate on which the byte scan and JSON.parse differ; -1 if there is none. */
export function firstDifference(candidates: Candidates, { names, profiles, drainings }: ParsedCandidates): number {
  const count = Math.max(candidates.count, names.length);
  for (let i = 0; i < count; i++) {
    if (i >= candidates.count || candidates.name(i) !== names[i]) return i;
    if (
      candidates.powerProfile(i) !== stringOrUndefined(profiles[i]) ||
      candidates.draining(i) !== stringOrUndefined(drainings[i])
    )
      return i;
  }
  return -1;
}

const stringOrUndefined = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
