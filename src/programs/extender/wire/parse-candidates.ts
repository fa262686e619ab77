import type { Candidates } from "./candidates.ts";

/** What JSON.parse says of a request, as far as it is compared with what the bytes say. */
export interface ParsedCandidates {
  readonly names: readonly unknown[];
  readonly profiles: readonly unknown[];
  readonly drainings: readonly unknown[];
}

type Keyed = Readonly<Record<string, unknown>>;

/**
 * The plain way to read a request: everything becomes objects. The worker runs this function from its source text, so that one
 * bundled file is enough: it may use nothing from outside itself, and name no function inside.
 */
export function parseCandidates(text: string, profileLabel: string, drainingLabel: string): ParsedCandidates {
  const body = JSON.parse(text) as Keyed;
  let items: readonly unknown[] = [];
  let given: readonly unknown[] = [];
  for (const key of Object.keys(body)) {
    const value = body[key];
    if (key.toLowerCase() === "nodenames" && Array.isArray(value)) given = value;
    if (key.toLowerCase() === "nodes" && typeof value === "object" && value !== null) {
      const list = (value as Keyed)["items"];
      if (Array.isArray(list)) items = list;
    }
  }
  if (items.length === 0) return { names: given, profiles: [], drainings: [] };
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

/** The first candidate of which bytes and objects do not say the same; -1 when all agree. */
export function firstDifference(candidates: Candidates, { names, profiles, drainings }: ParsedCandidates): number {
  const most = Math.max(candidates.count, names.length);
  for (let i = 0; i < most; i++) {
    if (i >= candidates.count || candidates.name(i) !== names[i]) return i;
    if (candidates.powerProfile(i) !== textIn(profiles[i]) || candidates.draining(i) !== textIn(drainings[i])) return i;
  }
  return -1;
}

const textIn = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
