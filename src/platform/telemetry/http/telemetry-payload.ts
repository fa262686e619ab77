import * as z from "zod";
import { type Instant, instant, isNonNegative, type Watts, watts } from "../../../core/units/index.ts";
import { type DropReason, invalidReason } from "../dropped-samples.ts";

/** A liberal reader: what is null or of another kind is missing, and what it does not know it leaves alone. */
const figure = z
  .number()
  .or(z.literal([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]))
  .optional()
  .catch(undefined);
const payload = z.object({
  packagePowerWatts: figure,
  cpu: z.object({ packagePowerWatts: figure }).catch({}).optional(),
  gpu: z
    .object({
      present: z.boolean().optional().catch(undefined),
      count: figure,
      powerWattsTotal: figure,
      avgPowerWattsTotal: figure,
    })
    .catch({})
    .optional(),
  ts: z.union([z.string(), z.number()]).optional().catch(undefined),
});

/**
 * Whose power is wanted. The figure at the top is the node's, GPUs included, and the one under `cpu` the packages'. The
 * operator wants the node's; the agent, which caps packages, the CPUs'.
 */
export type PowerScope = "node" | "cpu";

export interface PayloadReading {
  readonly power: Watts;
  /** When the endpoint measured it, where it says so. */
  readonly at?: Instant;
}

/**
 * The power in an answer of `GET /telemetry/{node}`.
 *
 * Node: the figure at the top, else CPUs and GPUs added up. A figure at the top that is smaller than the GPUs' power, or the
 * very figure of the CPUs beside GPUs that draw power, cannot include the GPUs, so they are added to it. A node that has
 * GPUs of unknown power and no figure at the top is `incomplete`.
 *
 * CPU: the figure under `cpu`, else the one at the top less what the GPUs are said to draw.
 */
export function powerInPayload(value: unknown, scope: PowerScope): PayloadReading | DropReason {
  const read = payload.safeParse(value).data;
  if (read === undefined) return "garbled";
  const { packagePowerWatts: top, ts } = read;
  const cpu = read.cpu?.packagePowerWatts;
  // The figure over the same time as the packages' comes first; the other is of this instant.
  const gpu = read.gpu?.avgPowerWattsTotal ?? read.gpu?.powerWattsTotal;
  const hasGpu = read.gpu?.present ?? ((read.gpu?.count ?? 0) > 0 || gpu !== undefined);
  const power = scope === "node" ? nodePower(top, cpu, hasGpu ? { power: gpu } : undefined) : cpuPower(top, cpu, gpu);
  if (typeof power === "string") return power;
  const fault = invalidReason(power, "not negative");
  if (fault !== undefined) return fault;
  const at = ts === undefined ? undefined : instantOf(ts);
  return { power: watts(power), ...(at !== undefined && { at }) };
}

type Figure = number | undefined;

function nodePower(top: Figure, cpu: Figure, gpu: { readonly power: Figure } | undefined): number | DropReason {
  if (top === undefined) {
    if (cpu === undefined) return "missing";
    if (gpu === undefined) return cpu;
    return gpu.power === undefined ? "incomplete" : sum(cpu, gpu.power);
  }
  const drawn = isNonNegative(gpu?.power) ? gpu.power : 0;
  return drawn > 0 && (top < drawn || top === cpu) ? sum(top, drawn) : top;
}

function cpuPower(top: Figure, cpu: Figure, gpu: Figure): number | DropReason {
  if (cpu !== undefined) return cpu;
  if (top === undefined) return "missing";
  return isNonNegative(gpu) && gpu < top ? top - gpu : top;
}

/** A negative part makes no sum, or it would hide in it. */
const sum = (one: number, other: number): number => (one < 0 || other < 0 ? Math.min(one, other) : one + other);

/** Later than this, a number cannot be seconds: they would be of the year 5138. */
const MOST_SECONDS = 1e11;

/** RFC 3339, or a number of seconds or milliseconds since 1970. */
function instantOf(ts: string | number): Instant | undefined {
  const at = typeof ts === "string" ? Date.parse(ts) : ts < MOST_SECONDS ? ts * 1000 : ts;
  return Number.isNaN(at) ? undefined : instant(at);
}
