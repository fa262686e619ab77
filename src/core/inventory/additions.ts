import { z } from "zod";
import { gpuVendors } from "../api/index.ts";
import { watts } from "../units/index.ts";
import { type CpuEntry, type Figure, figure, type GpuEntry, type Provenance } from "./catalogue/entry.ts";
import type { Source } from "./catalogue/sources.ts";
import { FALLBACK_GPU_IDLE_SHARE } from "./fallback.ts";

/** The bounds catch a slip of the unit: milliwatts, megahertz. */
const power = z.number().positive().max(100_000);
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
  minWatts: z.number().min(0).max(100_000).optional(),
  defaultWatts: power.optional(),
  maxWatts: power.optional(),
  idleWatts: z.number().min(0).max(100_000).optional(),
  perf: z.number().positive().max(1e9).optional(),
});

type CpuAddition = z.infer<typeof cpuAddition>;
type GpuAddition = z.infer<typeof gpuAddition>;

/** An entry that could be read, or what is wrong with it, one line per field. */
export type EntryReading<Entry> = { readonly entry: Entry } | { readonly problems: readonly string[] };

type Tag = <Value extends number>(value: Value) => Figure<Value>;

/** Until the site says better, its figures are assumed: we cannot know how they were found. */
function tagOf({
  provenance = "assumed",
  source,
}: {
  provenance?: Provenance | undefined;
  source?: string | undefined;
}): Tag {
  const origin: Source = { title: source ?? "site catalogue", where: "HARDWARE_CATALOG_PATH" };
  return (value) => figure(value, provenance, origin);
}

function parse<Output>(schema: z.ZodType<Output>, value: unknown): Output | readonly string[] {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  return result.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join(".")}: ${message}`,
  );
}

const isProblems = (parsed: unknown): parsed is readonly string[] => Array.isArray(parsed);

const missing = (field: string): string => `${field}: a new entry needs it`;

export function readCpuAddition(
  value: unknown,
  existing: (key: string) => CpuEntry | undefined,
): EntryReading<CpuEntry> {
  const parsed = parse<CpuAddition>(cpuAddition, value);
  if (isProblems(parsed)) return { problems: parsed };
  const tag = tagOf(parsed);
  const before = existing(parsed.key);
  const coresPerSocket = parsed.coresPerSocket === undefined ? before?.coresPerSocket : tag(parsed.coresPerSocket);
  const tdp = parsed.tdpWatts === undefined ? before?.tdp : tag(watts(parsed.tdpWatts));
  const baseGHz = parsed.baseGHz === undefined ? before?.baseGHz : tag(parsed.baseGHz);
  const boostGHz = (parsed.boostGHz === undefined ? before?.boostGHz : tag(parsed.boostGHz)) ?? baseGHz;
  const min = parsed.minWatts === undefined ? before?.configurable?.min : tag(watts(parsed.minWatts));
  const max = parsed.maxWatts === undefined ? before?.configurable?.max : tag(watts(parsed.maxWatts));
  if (!coresPerSocket || !tdp || !baseGHz || !boostGHz) {
    const lacking = { coresPerSocket, tdpWatts: tdp, baseGHz };
    return { problems: Object.entries(lacking).flatMap(([field, present]) => (present ? [] : [missing(field)])) };
  }
  const curve = parsed.curve
    ? { points: parsed.curve, provenance: tag(0).provenance, source: tag(0).source }
    : before?.curve;
  const problems = [
    ...(baseGHz.value > boostGHz.value ? ["boostGHz: is below baseGHz"] : []),
    ...((min === undefined) === (max === undefined) ? [] : ["minWatts, maxWatts: give both or neither"]),
    ...(min && max && min.value > max.value ? ["maxWatts: is below minWatts"] : []),
    ...(curve?.points.some(([load], at) => at > 0 && load <= (curve.points[at - 1]?.[0] ?? 0))
      ? ["curve: load must rise"]
      : []),
  ];
  if (problems.length > 0) return { problems };
  return {
    entry: {
      key: parsed.key,
      vendor: parsed.vendor ?? before?.vendor ?? "unknown",
      family: parsed.family ?? before?.family ?? parsed.key,
      aliases: [...(before?.aliases ?? []), ...(parsed.aliases ?? [])],
      coresPerSocket,
      threadsPerCore: parsed.threadsPerCore ?? before?.threadsPerCore ?? 1,
      tdp,
      ...(min && max ? { configurable: { min, max } } : {}),
      baseGHz,
      boostGHz,
      ...(curve ? { curve } : {}),
    },
  };
}

export function readGpuAddition(
  value: unknown,
  existing: (key: string) => GpuEntry | undefined,
): EntryReading<GpuEntry> {
  const parsed = parse<GpuAddition>(gpuAddition, value);
  if (isProblems(parsed)) return { problems: parsed };
  const tag = tagOf(parsed);
  const before = existing(parsed.key);
  const maxWatts = parsed.maxWatts === undefined ? before?.maxWatts : tag(watts(parsed.maxWatts));
  const perf = parsed.perf === undefined ? before?.perf : tag(parsed.perf);
  const vendor = parsed.vendor ?? before?.vendor;
  if (!maxWatts || !perf || !vendor) {
    const lacking = { vendor, maxWatts, perf };
    return { problems: Object.entries(lacking).flatMap(([field, present]) => (present ? [] : [missing(field)])) };
  }
  const defaultWatts =
    (parsed.defaultWatts === undefined ? before?.defaultWatts : tag(watts(parsed.defaultWatts))) ?? maxWatts;
  const minWatts = (parsed.minWatts === undefined ? before?.minWatts : tag(watts(parsed.minWatts))) ?? tag(watts(0));
  const idleWatts =
    (parsed.idleWatts === undefined ? before?.idleWatts : tag(watts(parsed.idleWatts))) ??
    tag(watts(maxWatts.value * FALLBACK_GPU_IDLE_SHARE));
  const problems = [
    ...(minWatts.value > defaultWatts.value ? ["defaultWatts: is below minWatts"] : []),
    ...(defaultWatts.value > maxWatts.value ? ["maxWatts: is below defaultWatts"] : []),
    ...(idleWatts.value > maxWatts.value ? ["idleWatts: is above maxWatts"] : []),
  ];
  if (problems.length > 0) return { problems };
  return {
    entry: {
      key: parsed.key,
      vendor,
      aliases: [...(before?.aliases ?? []), ...(parsed.aliases ?? [])],
      minWatts,
      defaultWatts,
      maxWatts,
      idleWatts,
      perf,
    },
  };
}
