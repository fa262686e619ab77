import * as z from "zod";
import { type Instant, isNonNegative, type Watts, watts } from "../../../core/units/index.ts";
import {
  fillUrl,
  type HttpClient,
  isStale,
  powerInPayload,
  STALE_AFTER,
  TelemetryError,
} from "../../telemetry/index.ts";
import type { HttpEndpoint } from "./http-control.ts";

/** What a telemetry service says of a node, as far as control uses it. What is missing or makes no sense is absent. */
export interface HttpReading {
  readonly cpuPower?: Watts | undefined;
  /** Of all boards. */
  readonly gpuPower?: Watts | undefined;
  readonly gpuCount?: number | undefined;
  readonly cpuCap?: Watts | undefined;
  readonly gpuCap?: Watts | undefined;
  readonly throttlePct?: number | undefined;
  /** Why there is no CPU power. */
  readonly missing?: string | undefined;
  /** Why nothing could be read at all. */
  readonly failed?: string | undefined;
}

const figure = z.number().min(0).optional().catch(undefined);
const payload = z.object({
  cpu: z.object({ capWatts: figure, throttlePct: figure }).catch({}).optional(),
  gpu: z
    .object({ count: figure, powerWattsTotal: figure, avgPowerWattsTotal: figure, capWattsPerGpuApplied: figure })
    .catch({})
    .optional(),
});

/** `GET /telemetry/{node}`. Never rejects, but with the signal's own reason. */
export async function readTelemetry(
  http: Pick<HttpClient, "json">,
  node: string,
  { endpoint, timeout }: HttpEndpoint,
  now: () => Instant,
  signal?: AbortSignal,
): Promise<HttpReading> {
  try {
    return readingOf(await http.json({ url: fillUrl(endpoint, "{node}", node), node, timeout, signal }), now());
  } catch (error) {
    if (!(error instanceof TelemetryError)) throw error;
    return { failed: error.message };
  }
}

function readingOf(value: unknown, now: Instant): HttpReading {
  const power = powerInPayload(value, "cpu");
  const stale = typeof power !== "string" && power.at !== undefined && isStale(power.at, now, STALE_AFTER);
  if (stale) return { missing: "what the telemetry service says is old" };
  const { cpu, gpu } = payload.safeParse(value).data ?? {};
  const gpuPower = gpu?.avgPowerWattsTotal ?? gpu?.powerWattsTotal;
  return {
    ...(typeof power === "string"
      ? { missing: `the telemetry service's CPU power is ${power}` }
      : { cpuPower: power.power }),
    gpuPower: isNonNegative(gpuPower) ? watts(gpuPower) : undefined,
    gpuCount: gpu?.count,
    cpuCap: cpu?.capWatts === undefined ? undefined : watts(cpu.capWatts),
    gpuCap: gpu?.capWattsPerGpuApplied === undefined ? undefined : watts(gpu.capWattsPerGpuApplied),
    throttlePct: cpu?.throttlePct,
  };
}
