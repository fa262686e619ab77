import { type AdditionReader, readCpuAddition, readGpuAddition } from "./additions.ts";
import { BUILTIN_CPUS, BUILTIN_GPUS, CPU_FAMILIES, CPU_PROXIES, GPU_PROXIES } from "./builtin.ts";
import type { CpuEntry, GpuEntry } from "./catalogue-entry.ts";
import { type CatalogueMatch, matchCpu, matchGpu } from "./match.ts";
import { indexFamilies, indexNames, type NameClash, type Named, NameHolders } from "./name-index.ts";
import { cpuNameParts, gpuNameParts, MAX_NAME_LENGTH } from "./normalise.ts";

/** The models that Joulie knows, indexed by all of their names. */
export interface Catalogue {
  readonly cpus: readonly CpuEntry[];
  readonly gpus: readonly GpuEntry[];
  readonly cpu: (name: string) => CatalogueMatch<CpuEntry>;
  readonly gpu: (name: string) => CatalogueMatch<GpuEntry>;
}

export interface CatalogueReading {
  readonly catalogue: Catalogue;
  /** One line per rejected entry and field: "gpus[1] (my-gpu): perf: …". Empty if all entries were accepted. */
  readonly problems: readonly string[];
}

/**
 * Merges the built-in models with those of a site: `{ cpus: […], gpus: […] }`, the content of HARDWARE_CATALOG_PATH. An entry
 * with a known key overrides the fields that it sets; an entry with a new key adds a model. An invalid entry is rejected
 * and reported without affecting the others.
 */
export function buildCatalogue(additions?: unknown): CatalogueReading {
  const sections = sectionsOf(additions);
  const cpus = withAdditions(BUILTIN_CPUS, sections.cpus, "cpus", readCpuAddition, new NameHolders(cpuNameParts));
  const gpus = withAdditions(BUILTIN_GPUS, sections.gpus, "gpus", readGpuAddition, new NameHolders(gpuNameParts));
  const cpuIndex = {
    ...indexNames(cpus.entries, CPU_PROXIES, cpuNameParts),
    families: indexFamilies(cpus.entries, CPU_FAMILIES),
  };
  const gpuIndex = indexNames(gpus.entries, GPU_PROXIES, gpuNameParts);
  return {
    catalogue: {
      cpus: cpus.entries,
      gpus: gpus.entries,
      cpu: remembered((name) => matchCpu(cpuIndex, name)),
      gpu: remembered((name) => matchGpu(gpuIndex, name)),
    },
    problems: [...sections.problems, ...cpus.problems, ...gpus.problems],
  };
}

/** More spellings than any cluster has at one time. The oldest ones are evicted first. */
const MAX_REMEMBERED = 1024;

/** Caches matches: thousands of nodes share a few dozen models, and the catalogue never changes. */
function remembered<Entry>(lookUp: (name: string) => CatalogueMatch<Entry>): (name: string) => CatalogueMatch<Entry> {
  const found = new Map<string, CatalogueMatch<Entry>>();
  return (name) => {
    const before = found.get(name);
    if (before !== undefined) return before;
    const match = lookUp(name);
    if (found.size >= MAX_REMEMBERED) found.clear();
    if (name.length <= MAX_NAME_LENGTH) found.set(name, match);
    return match;
  };
}

interface Sections {
  readonly cpus: readonly unknown[];
  readonly gpus: readonly unknown[];
  readonly problems: readonly string[];
}

function sectionsOf(additions: unknown): Sections {
  if (additions === undefined || additions === null) return { cpus: [], gpus: [], problems: [] };
  if (typeof additions !== "object" || Array.isArray(additions)) {
    return { cpus: [], gpus: [], problems: ["the catalogue must be an object with the lists cpus and gpus"] };
  }
  const problems: string[] = [];
  const found: Record<string, readonly unknown[]> = {};
  for (const [section, list] of Object.entries(additions) as [string, unknown][]) {
    if (section !== "cpus" && section !== "gpus") problems.push(`${section}: unknown section; expected cpus or gpus`);
    else if (Array.isArray(list)) found[section] = list;
    else if (list !== null) problems.push(`${section}: must be a list of entries`);
  }
  return { cpus: found.cpus ?? [], gpus: found.gpus ?? [], problems };
}

function withAdditions<Entry extends Named>(
  builtin: readonly Entry[],
  additions: readonly unknown[],
  section: string,
  readEntry: AdditionReader<Entry>,
  names: NameHolders,
): { readonly entries: readonly Entry[]; readonly problems: readonly string[] } {
  const entries = new Map(builtin.map((entry) => [entry.key, entry]));
  for (const entry of builtin) names.admit(entry);
  const added = new Set<string>();

  const problemsOf = (value: unknown, key: string | undefined): readonly string[] => {
    const holder = key === undefined ? undefined : names.holderOf(key);
    if (holder !== undefined && holder !== key) return [`key: is a name of "${holder}"; did you mean that?`];
    const reading = readEntry(value, (listed) => entries.get(listed));
    if ("problems" in reading) return reading.problems;
    const { entry } = reading;
    if (added.has(entry.key)) return ["key: duplicate; the first entry is used"];
    const clash = names.admit(entry);
    if (clash !== undefined) return [explain(clash)];
    entries.set(entry.key, entry);
    added.add(entry.key);
    return [];
  };

  const problems = additions.flatMap((value, at) => {
    const key = keyOf(value);
    const where = `${section}[${at}]${key === undefined ? "" : ` (${key})`}`;
    return problemsOf(value, key).map((problem) => `${where}: ${problem}`);
  });
  return { entries: [...entries.values()], problems };
}

const explain = ({ name, heldBy }: NameClash): string =>
  `aliases: "${name}" ${heldBy === undefined ? "says nothing that tells models apart" : `already means ${heldBy}`}`;

function keyOf(value: unknown): string | undefined {
  const key = typeof value === "object" && value !== null && "key" in value ? value.key : undefined;
  return typeof key === "string" ? key.trim() : undefined;
}

/** The catalogue without additions. */
export const builtinCatalogue: Catalogue = buildCatalogue().catalogue;
