import * as z from "zod";
import { type Instant, instant, isNonNegative, type Watts, watts } from "../../../core/units/index.ts";
import { type DropReason, invalidReason } from "../dropped-samples.ts";

/** Reads liberally: null and values of another type count as missing, and unknown fields are ignored. */
const figure = z
  .number()
  .or(z.literal([Infinity, -Infinity]))
  .optional()
  .catch(undefined);
const payload = z.object({
  packagePowerWatts: figure,
  serverPowerWatts: figure,
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
 * Which power to read. The top-level value is the node's power including GPUs; the value under `cpu` is the packages' power. The
 * operator reads the node's power, the agent the CPUs', because it caps packages.
 */
export type PowerScope = "node" | "cpu";

export interface PayloadReading {
  /** Absent if the node's endpoint reads the whole server only. */
  readonly power?: Watts;
  /** Of the whole server, with the node's scope. */
  readonly server?: Watts;
  /** When the endpoint measured it, if it reports that. */
  readonly at?: Instant;
}

/**
 * The power in a response of `GET /telemetry/{node}`.
 *
 * Node: the top-level value, else the sum of CPUs and GPUs. A top-level value that is smaller than the GPUs' power, or equal to the
 * CPUs' power while GPUs draw power, cannot include the GPUs, so they are added. Without a top-level value, GPUs of unknown power
 * make the node `incomplete`.
 *
 * `serverPowerWatts` is the power of the whole server, read by a meter. It does not stand for the devices' power.
 *
 * CPU: the value under `cpu`, else the top-level value minus the GPUs' power.
 */
export function powerInPayload(value: unknown, scope: PowerScope): PayloadReading | DropReason {
  const read = payload.safeParse(value).data;
  if (read === undefined) return "garbled";
  const { packagePowerWatts: top, ts } = read;
  const cpu = read.cpu?.packagePowerWatts;
  // Prefer the average, which covers the same time as the packages' value; the other one is instantaneous.
  const gpu = read.gpu?.avgPowerWattsTotal ?? read.gpu?.powerWattsTotal;
  const hasGpu = read.gpu?.present ?? ((read.gpu?.count ?? 0) > 0 || gpu !== undefined);
  const power = scope === "node" ? nodePower(top, cpu, hasGpu ? { power: gpu } : undefined) : cpuPower(top, cpu, gpu);
  const server = scope === "node" && isNonNegative(read.serverPowerWatts) ? watts(read.serverPowerWatts) : undefined;
  const fault = typeof power === "string" ? power : invalidReason(power);
  if (fault !== undefined && server === undefined) return fault;
  const at = ts === undefined ? undefined : instantOf(ts);
  return {
    ...(fault === undefined && { power: watts(power as number) }),
    ...(server !== undefined && { server }),
    ...(at !== undefined && { at }),
  };
}

type OptionalWatts = number | undefined;

function nodePower(
  top: OptionalWatts,
  cpu: OptionalWatts,
  gpu: { readonly power: OptionalWatts } | undefined,
): number | DropReason {
  if (top === undefined) {
    if (cpu === undefined) return "missing";
    if (gpu === undefined) return cpu;
    return gpu.power === undefined ? "incomplete" : sum(cpu, gpu.power);
  }
  const drawn = isNonNegative(gpu?.power) ? gpu.power : 0;
  return drawn > 0 && (top < drawn || top === cpu) ? sum(top, drawn) : top;
}

function cpuPower(top: OptionalWatts, cpu: OptionalWatts, gpu: OptionalWatts): number | DropReason {
  if (cpu !== undefined) return cpu;
  if (top === undefined) return "missing";
  return isNonNegative(gpu) && gpu < top ? top - gpu : top;
}

/** Returns a negative part instead of the sum, so that the sum does not hide it. */
const sum = (one: number, other: number): number => (one < 0 || other < 0 ? Math.min(one, other) : one + other);

/** A larger number cannot be seconds since 1970: it would be the year 5138. */
const MAX_SECONDS = 1e11;

/** RFC 3339, or a number of seconds or milliseconds since 1970. */
function instantOf(ts: string | number): Instant | undefined {
  let at = typeof ts === "string" ? Date.parse(ts) : ts;
  if (typeof ts === "number" && ts < MAX_SECONDS) at = ts * 1000;
  return Number.isNaN(at) ? undefined : instant(at);
}
