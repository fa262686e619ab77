import { type EntryReading, readCpuAddition, readGpuAddition } from "./additions.ts";
import { BUILTIN_CPUS, BUILTIN_GPUS, CPU_FAMILIES, CPU_PROXIES, GPU_PROXIES } from "./builtin.ts";
import type { CpuEntry, GpuEntry } from "./catalogue/entry.ts";
import { type Match, matchCpu, matchGpu } from "./match.ts";
import { indexFamilies, indexNames, type NameClash } from "./name-index.ts";
import { cpuNameParts, gpuNameParts } from "./normalise.ts";

/** The models Joulie knows, by whatever name a node gives them. */
export interface Catalogue {
  readonly cpus: readonly CpuEntry[];
  readonly gpus: readonly GpuEntry[];
  readonly cpu: (name: string) => Match<CpuEntry>;
  readonly gpu: (name: string) => Match<GpuEntry>;
}

export interface CatalogueReading {
  readonly catalogue: Catalogue;
  /** One line per refused entry and field: "gpus[1] (my-gpu): perf: …". Empty when all was taken. */
  readonly problems: readonly string[];
}

interface Named {
  readonly key: string;
  readonly aliases: readonly string[];
}

/**
 * The embedded models plus a site's own: `{ cpus: […], gpus: […] }`, as HARDWARE_CATALOG_PATH holds them. A known key
 * overrides the fields it names, a new one adds a model. A bad entry is refused and named; it costs no other.
 */
export function buildCatalogue(additions?: unknown): CatalogueReading {
  const sections = sectionsOf(additions);
  const cpus = withAdditions(BUILTIN_CPUS, sections.cpus, "cpus", readCpuAddition, cpuNames);
  const gpus = withAdditions(BUILTIN_GPUS, sections.gpus, "gpus", readGpuAddition, gpuNames);
  const cpuIndex = { ...cpuNames(cpus.entries), families: indexFamilies(cpus.entries, CPU_FAMILIES) };
  const gpuIndex = gpuNames(gpus.entries);
  return {
    catalogue: {
      cpus: cpus.entries,
      gpus: gpus.entries,
      cpu: (name) => matchCpu(cpuIndex, name),
      gpu: (name) => matchGpu(gpuIndex, name),
    },
    problems: [...sections.problems, ...cpus.problems, ...gpus.problems],
  };
}

const cpuNames = (entries: readonly CpuEntry[]) => indexNames(entries, CPU_PROXIES, cpuNameParts);
const gpuNames = (entries: readonly GpuEntry[]) => indexNames(entries, GPU_PROXIES, gpuNameParts);

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
    if (section !== "cpus" && section !== "gpus") problems.push(`${section}: unknown section; there are cpus and gpus`);
    else if (Array.isArray(list)) found[section] = list;
    else if (list !== null) problems.push(`${section}: must be a list of entries`);
  }
  return { cpus: found.cpus ?? [], gpus: found.gpus ?? [], problems };
}

function withAdditions<Entry extends Named>(
  builtin: readonly Entry[],
  additions: readonly unknown[],
  section: string,
  readEntry: (value: unknown, existing: (key: string) => Entry | undefined) => EntryReading<Entry>,
  namesOf: (entries: readonly Entry[]) => { readonly clashes: readonly NameClash[] },
): { readonly entries: readonly Entry[]; readonly problems: readonly string[] } {
  const entries = new Map(builtin.map((entry) => [entry.key, entry]));
  const problems: string[] = [];
  const added = new Set<string>();
  additions.forEach((value, at) => {
    const where = `${section}[${at}]${keyOf(value)}`;
    const reading = readEntry(value, (key) => entries.get(key));
    if ("problems" in reading) {
      problems.push(...reading.problems.map((problem) => `${where}: ${problem}`));
      return;
    }
    const { entry } = reading;
    const clash = added.has(entry.key)
      ? "key: is there twice; the first one counts"
      : clashOf(namesOf([...[...entries.values()].filter(({ key }) => key !== entry.key), entry]).clashes);
    if (clash === undefined) {
      entries.set(entry.key, entry);
      added.add(entry.key);
    } else problems.push(`${where}: ${clash}`);
  });
  return { entries: [...entries.values()], problems };
}

function clashOf([clash]: readonly NameClash[]): string | undefined {
  if (clash === undefined) return undefined;
  const why = clash.heldBy === undefined ? "says nothing that tells models apart" : `already means ${clash.heldBy}`;
  return `aliases: "${clash.name}" ${why}`;
}

const keyOf = (value: unknown): string => {
  const key = typeof value === "object" && value !== null && "key" in value ? value.key : undefined;
  return typeof key === "string" ? ` (${key})` : "";
};

/** What ships with Joulie. */
export const builtinCatalogue: Catalogue = buildCatalogue().catalogue;
