import * as z from "zod";
import { gpuVendors } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import { FALLBACK_GPU_IDLE_SHARE } from "./builtin.ts";
import {
  type CpuEntry,
  type Figure,
  figure,
  type GpuEntry,
  type LoadCurve,
  type Provenance,
} from "./catalogue/entry.ts";
import type { Source } from "./catalogue/sources.ts";

/** The bounds catch unit errors, such as milliwatts or megahertz. */
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
  devicesPerBoard: z.int().min(1).max(64).optional(),
});

/** The parsed entry, or its problems, one line per field. */
type EntryReading<Entry> = { readonly entry: Entry } | { readonly problems: readonly string[] };

export type AdditionReader<Entry> = (
  value: unknown,
  existing: (key: string) => Entry | undefined,
) => EntryReading<Entry>;

type Tag = <Value extends number>(value: Value) => Figure<Value>;

/** Values of a site count as assumed unless the site states another provenance. */
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

interface Overrides {
  readonly tag: Tag;
  /** The value of the addition, else the value of the existing entry. */
  readonly number: <Before extends Figure | undefined>(given: number | undefined, before: Before) => Figure | Before;
  readonly power: <Before extends Figure<Watts> | undefined>(
    given: number | undefined,
    before: Before,
  ) => Figure<Watts> | Before;
  /** Drops an inherited value if it conflicts with the given ones. */
  readonly within: <Value extends number>(inherited: Figure<Value>, least: Value, most: Value) => Figure<Value>;
}

function overridesOf(tag: Tag): Overrides {
  return {
    tag,
    number: (given, before) => (given === undefined ? before : tag(given)),
    power: (given, before) => (given === undefined ? before : tag(watts(given))),
    within: (inherited, least, most) => {
      if (inherited.value > most) return tag(most);
      return inherited.value < least ? tag(least) : inherited;
    },
  };
}

/** Validates an addition and merges it into the entry of the same key, if there is one. */
function readerOf<Addition extends z.infer<z.ZodObject<typeof identity>>, Entry>(
  schema: z.ZodType<Addition>,
  merge: (addition: Addition, before: Entry | undefined, overrides: Overrides) => EntryReading<Entry>,
): AdditionReader<Entry> {
  return (value, existing) => {
    const { success, data, error } = schema.safeParse(value);
    if (success) return merge(data, existing(data.key), overridesOf(tagOf(data)));
    const problems = error.issues.map(({ path, message }) =>
      path.length === 0 ? message : `${path.join(".")}: ${message}`,
    );
    return { problems };
  };
}

const missing = (fields: Readonly<Record<string, unknown>>): { readonly problems: readonly string[] } => ({
  problems: Object.entries(fields).flatMap(([name, given]) => (given ? [] : [`${name}: required for a new entry`])),
});

const problemsIf = (...checks: readonly (readonly [wrong: boolean, problem: string])[]): readonly string[] =>
  checks.flatMap(([wrong, problem]) => (wrong ? [problem] : []));

export const readCpuAddition = readerOf<z.infer<typeof cpuAddition>, CpuEntry>(
  cpuAddition,
  (addition, before, { tag, number, power, within }) => {
    const coresPerSocket = number(addition.coresPerSocket, before?.coresPerSocket);
    const tdp = power(addition.tdpWatts, before?.tdp);
    const baseGHz = number(addition.baseGHz, before?.baseGHz);
    if (!coresPerSocket || !tdp || !baseGHz) return missing({ coresPerSocket, tdpWatts: tdp, baseGHz });
    const boostGHz = number(
      addition.boostGHz,
      within(before?.boostGHz ?? baseGHz, baseGHz.value, Number.POSITIVE_INFINITY),
    );
    const max = power(addition.maxWatts, before?.configurable?.max);
    const oldMin = before?.configurable?.min;
    const min = power(addition.minWatts, oldMin && max && within(oldMin, watts(0), max.value));
    const curve = addition.curve
      ? { points: addition.curve, provenance: tag(0).provenance, source: tag(0).source }
      : before?.curve;
    const problems = problemsIf(
      [baseGHz.value > boostGHz.value, "boostGHz: is below baseGHz"],
      [(min === undefined) !== (max === undefined), "minWatts, maxWatts: set both or neither"],
      [min !== undefined && max !== undefined && min.value > max.value, "maxWatts: is below minWatts"],
      [curve !== undefined && !rises(curve.points), "curve: load must be ascending"],
    );
    if (problems.length > 0) return { problems };
    return {
      entry: {
        key: addition.key,
        vendor: addition.vendor ?? before?.vendor ?? "unknown",
        family: addition.family ?? before?.family ?? addition.key,
        aliases: [...(before?.aliases ?? []), ...(addition.aliases ?? [])],
        coresPerSocket,
        threadsPerCore: addition.threadsPerCore ?? before?.threadsPerCore ?? 1,
        tdp,
        ...(min && max ? { configurable: { min, max } } : {}),
        baseGHz,
        boostGHz,
        ...(curve ? { curve } : {}),
      },
    };
  },
);

const rises = (points: LoadCurve["points"]): boolean =>
  points.every(([load], at) => at === 0 || load > (points[at - 1]?.[0] ?? 0));

export const readGpuAddition = readerOf<z.infer<typeof gpuAddition>, GpuEntry>(
  gpuAddition,
  (addition, before, { tag, number, power, within }) => {
    const maxWatts = power(addition.maxWatts, before?.maxWatts);
    const perf = number(addition.perf, before?.perf);
    const vendor = addition.vendor ?? before?.vendor;
    if (!maxWatts || !perf || !vendor) return missing({ vendor, maxWatts, perf });
    const most = maxWatts.value;
    const none = watts(0);
    const minWatts = power(
      addition.minWatts,
      within(before?.minWatts ?? tag(none), none, watts(Math.min(most, addition.defaultWatts ?? most))),
    );
    const defaultWatts = power(addition.defaultWatts, within(before?.defaultWatts ?? maxWatts, minWatts.value, most));
    const idleWatts = power(
      addition.idleWatts,
      within(before?.idleWatts ?? tag(watts(most * FALLBACK_GPU_IDLE_SHARE)), none, most),
    );
    const devicesPerBoard = addition.devicesPerBoard ?? before?.devicesPerBoard;
    const problems = problemsIf(
      [minWatts.value > most, "maxWatts: is below minWatts"],
      [minWatts.value <= most && minWatts.value > defaultWatts.value, "defaultWatts: is below minWatts"],
      [minWatts.value <= most && defaultWatts.value > most, "maxWatts: is below defaultWatts"],
      [idleWatts.value > most, "idleWatts: is above maxWatts"],
    );
    if (problems.length > 0) return { problems };
    return {
      entry: {
        ...before,
        key: addition.key,
        vendor,
        aliases: [...(before?.aliases ?? []), ...(addition.aliases ?? [])],
        minWatts,
        defaultWatts,
        maxWatts,
        idleWatts,
        perf,
        ...(devicesPerBoard === undefined ? {} : { devicesPerBoard }),
      },
    };
  },
);
