import type { Exactness } from "../api/index.ts";
import type { CpuEntry, GpuEntry } from "./catalogue-entry.ts";
import type { CpuIndex, FamilyIndex, FamilyMember, GpuIndex, ModelNameIndex } from "./name-index.ts";
import { cpuNameParts, gpuNameParts, type NameParts } from "./normalise.ts";

/** exact: the model itself. proxy: the closest known one, see the reason. generic: unknown, so fallback values apply. */
export interface CatalogueMatch<Entry> {
  readonly match: Exactness;
  readonly key: string;
  readonly reason: string;
  readonly entry?: Entry;
}

/** The key of models that are not in the catalogue. */
export const GENERIC_KEY = "generic";

const unknown = (name: string): CatalogueMatch<never> => ({
  match: "generic",
  key: GENERIC_KEY,
  reason: name.trim() === "" ? "no model name" : `the catalogue has no entry for "${name}"`,
});

function standIn<Entry extends { readonly key: string }>(
  name: string,
  entry: Entry,
  because: string,
): CatalogueMatch<Entry> {
  return { match: "proxy", key: entry.key, entry, reason: `${entry.key} stands in for "${name}": ${because}` };
}

/** An entry of the index: a model, or a name that a model stands in for. */
function indexed<Entry extends { readonly key: string }>(
  index: ModelNameIndex<Entry>,
  name: string,
  id: string,
): CatalogueMatch<Entry> | undefined {
  const entry = index.exact.get(id);
  if (entry !== undefined) return { match: "exact", key: entry.key, entry, reason: `"${name}" is ${entry.key}` };
  const relative = index.standIns.get(id);
  return relative && standIn(name, relative.entry, relative.because);
}

export function matchCpu(index: CpuIndex, name: string): CatalogueMatch<CpuEntry> {
  const parts = cpuNameParts(name);
  return indexed(index, name, parts.id) ?? sibling(index, name, parts) ?? unknown(name);
}

/** Matches a model number against the patterns of known families: clouds and OEMs have their own models (9R14, 8481C). */
function sibling(index: CpuIndex, name: string, parts: NameParts): CatalogueMatch<CpuEntry> | undefined {
  for (const candidates of index.families) {
    const { brand, model, family, except } = candidates.family;
    const number = parts.words.includes(brand) ? parts.words.find((word) => model.test(word)) : undefined;
    if (number === undefined || parts.words.some((word) => except?.test(word))) continue;
    const digits = /^\d{4}/.exec(number)?.[0];
    const sameNumber = digits === undefined ? undefined : index.exact.get(digits);
    if (sameNumber?.family === family) return standIn(name, sameNumber, `same ${family} number with another suffix`);
    const { cores } = parts;
    if (cores !== undefined) {
      const nearest = nearestTo(candidates, ({ entry }) => entry.coresPerSocket - cores);
      return standIn(name, nearest, `the ${family} nearest to ${cores} cores`);
    }
    if (digits !== undefined) {
      const nearest = nearNumber(candidates, Number(digits));
      return nearest && standIn(name, nearest, `the nearest number in the ${family} family`);
    }
    return standIn(name, candidates.representative.entry, `an unlisted ${family}`);
  }
  return undefined;
}

/** Model numbers that differ by more than this are unrelated. */
const FURTHEST_NUMBER = 20;

/** The hundreds identify the class: an 84xx draws three times the power of a 34xx. */
function nearNumber({ members }: FamilyIndex, number: number): CpuEntry | undefined {
  const sameClass = members.filter((member) => Math.floor(member.number / 100) === Math.floor(number / 100));
  const away = (member: FamilyMember): number => Math.abs(member.number - number);
  const nearest = sameClass.toSorted((a, b) => away(a) - away(b))[0];
  return nearest && away(nearest) <= FURTHEST_NUMBER ? nearest.entry : undefined;
}

/** The representative wins ties, then the member listed first. */
function nearestTo({ representative, members }: FamilyIndex, distance: (member: FamilyMember) => number): CpuEntry {
  let nearest = representative;
  let least = Math.abs(distance(representative));
  for (const member of members) {
    const away = Math.abs(distance(member));
    if (away < least) [nearest, least] = [member, away];
  }
  return nearest.entry;
}

export function matchGpu(index: GpuIndex, name: string): CatalogueMatch<GpuEntry> {
  const { id, sliced } = gpuNameParts(name);
  const found = indexed(index, name, id) ?? byWord(index, name, id) ?? unknown(name);
  return sliced && found.entry
    ? { ...found, reason: `${found.reason}; a slice uses the values of its whole board` }
    : found;
}

/** Matches "H100 something" by whole words only: XA1000 does not contain an A100, and MI300A is not an MI300X. */
function byWord(index: GpuIndex, name: string, id: string): CatalogueMatch<GpuEntry> | undefined {
  for (const word of id.split(" ")) {
    const relative = indexed(index, name, word);
    if (relative?.entry) return standIn(name, relative.entry, `the rest of the name is unknown, "${word}" is not`);
  }
  return undefined;
}
