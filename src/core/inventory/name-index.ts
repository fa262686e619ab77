import type { CpuEntry, CpuFamily, GpuEntry, Proxy } from "./catalogue/entry.ts";
import type { NameParts } from "./normalise.ts";

interface Named {
  readonly key: string;
  readonly aliases: readonly string[];
}

interface StandIn<Entry> {
  readonly entry: Entry;
  readonly because: string;
}

/** Names prepared once, so that a look-up is a hash away however large the catalogue grows. */
export interface NameIndex<Entry> {
  readonly exact: ReadonlyMap<string, Entry>;
  readonly standIns: ReadonlyMap<string, StandIn<Entry>>;
}

export interface FamilyIndex {
  readonly family: CpuFamily;
  readonly representative: FamilyMember;
  readonly members: readonly FamilyMember[];
}

export interface FamilyMember {
  readonly entry: CpuEntry;
  /** The 8480 of an 8480+; NaN where a model has no four digits. */
  readonly number: number;
}

/** A name an entry cannot have: another one holds it, or nothing in it tells models apart. */
export interface NameClash {
  readonly name: string;
  readonly key: string;
  readonly heldBy?: string;
}

export function indexNames<Entry extends Named>(
  entries: readonly Entry[],
  proxies: readonly Proxy[],
  partsOf: (name: string) => NameParts,
): NameIndex<Entry> & { readonly clashes: readonly NameClash[] } {
  const exact = new Map<string, Entry>();
  const clashes: NameClash[] = [];
  for (const entry of entries) {
    for (const name of [entry.key, ...entry.aliases]) {
      const { id } = partsOf(name);
      const holder = exact.get(id);
      if (id === "") clashes.push({ name, key: entry.key });
      else if (holder === undefined) exact.set(id, entry);
      else if (holder !== entry) clashes.push({ name, key: entry.key, heldBy: holder.key });
    }
  }
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const standIns = new Map<string, StandIn<Entry>>();
  for (const { names, standsFor, because } of proxies) {
    const entry = byKey.get(standsFor);
    // A site's own entry may take over a name that until then only had a stand-in.
    if (entry !== undefined) for (const name of names) standIns.set(partsOf(name).id, { entry, because });
  }
  return { exact, standIns, clashes };
}

export function indexFamilies(entries: readonly CpuEntry[], families: readonly CpuFamily[]): FamilyIndex[] {
  return families.flatMap((family) => {
    const members = entries
      .filter((entry) => entry.family === family.family)
      .map((entry) => ({ entry, number: Number(/\d{4}/.exec(entry.key)?.[0]) }));
    const representative = members.find(({ entry }) => entry.key === family.representative);
    return representative === undefined ? [] : [{ family, representative, members }];
  });
}

export type CpuIndex = NameIndex<CpuEntry> & { readonly families: readonly FamilyIndex[] };
export type GpuIndex = NameIndex<GpuEntry>;
