import * as z from "zod";
import { type Instant, isNonNegative, type Watts, watts } from "../../../core/units/index.ts";
import { fillUrl, type HttpClient, isStaleSample, powerInPayload, TelemetryError } from "../../telemetry/index.ts";
import type { HttpEndpoint } from "./http-control.ts";

/** The fields of a node's telemetry that control uses. Missing and invalid values are left out. */
export interface HttpReading {
  readonly cpuPower?: Watts | undefined;
  /** The total of all boards. */
  readonly gpuPower?: Watts | undefined;
  readonly gpuCount?: number | undefined;
  readonly cpuCap?: Watts | undefined;
  readonly gpuCap?: Watts | undefined;
  readonly throttlePct?: number | undefined;
  /** Why there is no CPU power. */
  readonly missing?: string | undefined;
  /** Why the whole reading failed. */
  readonly failed?: string;
}

const optionalNumber = z.number().min(0).optional().catch(undefined);
const payload = z.object({
  cpu: z.object({ capWatts: optionalNumber, throttlePct: optionalNumber }).catch({}).optional(),
  gpu: z
    .object({
      count: optionalNumber,
      powerWattsTotal: optionalNumber,
      avgPowerWattsTotal: optionalNumber,
      capWattsPerGpuApplied: optionalNumber,
    })
    .catch({})
    .optional(),
});

/** Reads `GET /telemetry/{node}`. Rejects only with the signal's reason. */
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
  const stale = typeof power !== "string" && power.at !== undefined && isStaleSample(power.at, now);
  if (stale) return { missing: "the reading of the telemetry service is stale" };
  const { cpu, gpu } = payload.safeParse(value).data ?? {};
  const gpuPower = gpu?.avgPowerWattsTotal ?? gpu?.powerWattsTotal;
  return {
    ...(typeof power === "string"
      ? { missing: `no CPU power from the telemetry service: ${power}` }
      : { cpuPower: power.power }),
    gpuPower: isNonNegative(gpuPower) ? watts(gpuPower) : undefined,
    gpuCount: gpu?.count,
    cpuCap: cpu?.capWatts === undefined ? undefined : watts(cpu.capWatts),
    gpuCap: gpu?.capWattsPerGpuApplied === undefined ? undefined : watts(gpu.capWattsPerGpuApplied),
    throttlePct: cpu?.throttlePct,
  };
}
