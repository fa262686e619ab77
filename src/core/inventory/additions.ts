import * as z from "zod";
import { gpuVendors } from "../api/index.ts";
import { watts } from "../units/index.ts";
import { FALLBACK_GPU_IDLE_SHARE } from "./builtin.ts";
import type { CpuEntry, GpuEntry, LoadCurve } from "./catalogue-entry.ts";

/** The bounds catch unit errors, such as milliwatts or megahertz. */
const power = z.number().positive().max(100_000).transform(watts);
const powerOrNone = z.number().min(0).max(100_000).transform(watts);
const clock = z.number().positive().max(20);
const share = z.number().min(0).max(1);

const identity = {
  key: z.string().trim().min(1).max(253),
  aliases: z.array(z.string().trim().min(1).max(253)).max(64).optional(),
  provenance: z.enum(["measured", "vendor", "assumed"]).optional(),
  source: z.string().max(1024).optional(),
};

const cpuAddition = z.strictObject({
  ...identity,
  vendor: z.string().trim().min(1).max(63).toLowerCase().optional(),
  family: z.string().trim().min(1).max(253).optional(),
  coresPerSocket: z.int().min(1).max(65_536).optional(),
  threadsPerCore: z.int().min(1).max(16).optional(),
  tdpWatts: power.optional(),
  minWatts: power.optional(),
  maxWatts: power.optional(),
  baseGHz: clock.optional(),
  boostGHz: clock.optional(),
  curve: z
    .array(z.tuple([share, share]))
    .min(2)
    .max(101)
    .optional(),
});

const gpuAddition = z.strictObject({
  ...identity,
  vendor: z.enum(gpuVendors).optional(),
  minWatts: powerOrNone.optional(),
  defaultWatts: power.optional(),
  maxWatts: power.optional(),
  idleWatts: powerOrNone.optional(),
  perf: z.number().positive().max(1e9).optional(),
  devicesPerBoard: z.int().min(1).max(64).optional(),
  maxPartitions: z.int().min(1).max(64).optional(),
  memoryGB: z.number().positive().max(100_000).optional(),
});

/** The parsed entry, or its problems, one line per field. */
type EntryReading<Entry> = { readonly entry: Entry } | { readonly problems: readonly string[] };

/** Validates an addition and merges it into the entry of the same key, if there is one. */
export type AdditionReader<Entry> = (
  value: unknown,
  existing: (key: string) => Entry | undefined,
) => EntryReading<Entry>;

const parseProblems = (error: z.ZodError): readonly string[] =>
  error.issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`));

const missing = (fields: Readonly<Record<string, unknown>>): { readonly problems: readonly string[] } => ({
  problems: Object.entries(fields).flatMap(([name, given]) => (given ? [] : [`${name}: required for a new entry`])),
});

const problemsIf = (...checks: readonly (readonly [wrong: boolean, problem: string])[]): readonly string[] =>
  checks.flatMap(([wrong, problem]) => (wrong ? [problem] : []));

export const readCpuAddition: AdditionReader<CpuEntry> = (value, existing) => {
  const { success, data: addition, error } = cpuAddition.safeParse(value);
  if (!success) return { problems: parseProblems(error) };
  const before = existing(addition.key);
  const merged = { ...before, ...addition };
  const { coresPerSocket, tdpWatts, baseGHz, minWatts, maxWatts, curve } = merged;
  if (!coresPerSocket || !tdpWatts || !baseGHz) return missing({ coresPerSocket, tdpWatts, baseGHz });
  const problems = problemsIf(
    [addition.boostGHz !== undefined && baseGHz > addition.boostGHz, "boostGHz: is below baseGHz"],
    [(minWatts === undefined) !== (maxWatts === undefined), "minWatts, maxWatts: set both or neither"],
    [
      addition.minWatts !== undefined && maxWatts !== undefined && addition.minWatts > maxWatts,
      "maxWatts: is below minWatts",
    ],
    [curve !== undefined && !rises(curve), "curve: load must be ascending"],
  );
  if (problems.length > 0) return { problems };
  return {
    entry: {
      ...merged,
      aliases: [...(before?.aliases ?? []), ...(addition.aliases ?? [])],
      vendor: merged.vendor ?? "unknown",
      family: merged.family ?? addition.key,
      coresPerSocket,
      threadsPerCore: merged.threadsPerCore ?? 1,
      tdpWatts,
      baseGHz,
    },
  };
};

const rises = (points: LoadCurve): boolean =>
  points.every(([load], at) => at === 0 || load > (points[at - 1]?.[0] ?? 0));

export const readGpuAddition: AdditionReader<GpuEntry> = (value, existing) => {
  const { success, data: addition, error } = gpuAddition.safeParse(value);
  if (!success) return { problems: parseProblems(error) };
  const before = existing(addition.key);
  const merged = { ...before, ...addition };
  const { vendor, maxWatts, perf } = merged;
  if (!vendor || !maxWatts || !perf) return missing({ vendor, maxWatts, perf });
  // Inherited values give way to the given ones.
  const inheritedMin = Math.min(before?.minWatts ?? 0, addition.defaultWatts ?? maxWatts, maxWatts);
  const minWatts = addition.minWatts ?? watts(inheritedMin);
  const inheritedDefault = Math.min(Math.max(before?.defaultWatts ?? maxWatts, minWatts), maxWatts);
  const defaultWatts = addition.defaultWatts ?? watts(inheritedDefault);
  const inheritedIdle = Math.min(before?.idleWatts ?? maxWatts * FALLBACK_GPU_IDLE_SHARE, maxWatts);
  const idleWatts = addition.idleWatts ?? watts(inheritedIdle);
  const problems = problemsIf(
    [minWatts > maxWatts, "maxWatts: is below minWatts"],
    [minWatts <= maxWatts && minWatts > defaultWatts, "defaultWatts: is below minWatts"],
    [minWatts <= maxWatts && defaultWatts > maxWatts, "maxWatts: is below defaultWatts"],
    [idleWatts > maxWatts, "idleWatts: is above maxWatts"],
  );
  if (problems.length > 0) return { problems };
  const aliases = [...(before?.aliases ?? []), ...(addition.aliases ?? [])];
  return { entry: { ...merged, aliases, vendor, perf, minWatts, defaultWatts, maxWatts, idleWatts } };
};
