import type { CpuEntry, CpuFamily, GpuEntry, Proxy } from "./catalogue-entry.ts";
import type { NameParts } from "./normalise.ts";

export interface Named {
  readonly key: string;
  readonly aliases: readonly string[];
}

interface StandIn<Entry> {
  readonly entry: Entry;
  readonly because: string;
}

/** Normalised names, so that a lookup takes constant time for any catalogue size. */
export interface ModelNameIndex<Entry> {
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
  /** The 8480 of an 8480+; NaN if the model has no four digits. */
  readonly number: number;
}

/** A name that an entry cannot use: another entry has it, or it contains nothing that identifies a model. */
export interface NameClash {
  readonly name: string;
  readonly heldBy?: string;
}

/** Tracks which entry has which name. It is updated per entry, because a site may add thousands. */
export class NameHolders {
  readonly #partsOf: (name: string) => NameParts;
  readonly #keys = new Map<string, string>();

  constructor(partsOf: (name: string) => NameParts) {
    this.#partsOf = partsOf;
  }

  holderOf(name: string): string | undefined {
    return this.#keys.get(this.#partsOf(name).id);
  }

  /** An entry gets all of its names, or none if one of them is not available. */
  admit({ key, aliases }: Named): NameClash | undefined {
    const ids: string[] = [];
    for (const name of [key, ...aliases]) {
      const { id } = this.#partsOf(name);
      const heldBy = this.#keys.get(id);
      if (id === "") return { name };
      if (heldBy !== undefined && heldBy !== key) return { name, heldBy };
      ids.push(id);
    }
    for (const id of ids) this.#keys.set(id, key);
    return undefined;
  }
}

export function indexNames<Entry extends Named>(
  entries: readonly Entry[],
  proxies: readonly Proxy[],
  partsOf: (name: string) => NameParts,
): ModelNameIndex<Entry> {
  const exact = new Map<string, Entry>();
  for (const entry of entries) {
    for (const name of [entry.key, ...entry.aliases]) exact.set(partsOf(name).id, entry);
  }
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const standIns = new Map<string, StandIn<Entry>>();
  for (const { names, standsFor, because } of proxies) {
    const entry = byKey.get(standsFor);
    // An entry of a site may take a name that so far had only a proxy.
    if (entry !== undefined) for (const name of names) standIns.set(partsOf(name).id, { entry, because });
  }
  return { exact, standIns };
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

export type CpuIndex = ModelNameIndex<CpuEntry> & { readonly families: readonly FamilyIndex[] };
export type GpuIndex = ModelNameIndex<GpuEntry>;
