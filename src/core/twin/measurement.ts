import type { PowerMeasurement } from "../api/index.ts";
import {
  type Instant,
  isNonNegative,
  isoTime,
  percentOf,
  type Watts,
  type WattsPerMinute,
  watts,
} from "../units/index.ts";
import { type DevicePower, type EffectiveCaps, isPercentage, maxPowerOf, type PowerEnvelope } from "./caps.ts";
import type { PowerReading } from "./power-source.ts";

/** The power that CPUs and GPUs may draw under their caps. It depends on hardware and target, never on a live reading. */
export function cappedPower(hardware: PowerEnvelope, caps: EffectiveCaps): DevicePower | undefined {
  const maxima = maxPowerOf(hardware);
  if (maxima === undefined || !isPercentage(caps.cpuPct) || !isPercentage(caps.gpuPct)) return undefined;
  const capped = { cpu: percentOf(caps.cpuPct, maxima.cpu), gpu: percentOf(caps.gpuPct, maxima.gpu) };
  return Number.isFinite(capped.cpu + capped.gpu) ? capped : undefined;
}

/**
 * The powerMeasurement block, from which the scheduler projects headroom. It is absent without a budget above 0 W. Without a
 * reading it has a budget but no measured power, because missing telemetry is not 0 W.
 */
export function powerMeasurement(
  hardware: PowerEnvelope,
  caps: EffectiveCaps,
  reading: PowerReading | undefined,
  trend: WattsPerMinute,
): PowerMeasurement | undefined {
  const maxima = maxPowerOf(hardware);
  const capped = cappedPower(hardware, caps);
  if (maxima === undefined || capped === undefined) return undefined;
  const nodeCapped = capped.cpu + capped.gpu;
  if (nodeCapped <= 0) return undefined;
  return {
    ...measured(reading, trend),
    cpuCappedPowerW: capped.cpu,
    gpuCappedPowerW: capped.gpu,
    nodeCappedPowerW: watts(nodeCapped),
    cpuTdpW: maxima.cpu,
    gpuTdpW: maxima.gpu,
    nodeTdpW: watts(maxima.cpu + maxima.gpu),
  };
}

function measured(reading: PowerReading | undefined, trend: WattsPerMinute): PowerMeasurement {
  if (reading === undefined || !isNonNegative(reading.power)) return {};
  return {
    source: reading.source,
    ...timestamp(reading.at),
    measuredNodePowerW: reading.power,
    ...(reading.estimatedGpus !== undefined && { estimatedGpuPowerW: reading.estimatedGpus }),
    ...(isNonNegative(reading.server) && { serverPowerW: reading.server }),
    ...(Number.isFinite(trend) ? { powerTrendWPerMin: trend } : {}),
  };
}

/** Omits a time that the API would reject; the watts are still useful. */
const timestamp = (at: Instant): { measuredAt?: string } =>
  at >= 0 && at <= END_OF_9999 ? { measuredAt: isoTime(at) } : {};
const END_OF_9999 = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const WATTS_THAT_MATTER = 5;
const SHARE_THAT_MATTERS = 0.01;

const derived = ["cpuCappedPowerW", "gpuCappedPowerW", "nodeCappedPowerW", "cpuTdpW", "gpuTdpW", "nodeTdpW"] as const;

/**
 * The part of `isTwinWorthPublishing` (publication.ts) about the measurement: another source, budget or maximum, a reading that
 * appeared or disappeared, or one that changed by 1 % or 5 W. A trend counts if it changed by 5 W/min; otherwise a node would
 * seem to rise long after its power has settled. Compares with the last published block, because a slow drift never changes
 * by 5 W within one tick.
 */
export function isMeasurementWorthPublishing(
  lastPublished: PowerMeasurement | undefined,
  next: PowerMeasurement | undefined,
): boolean {
  if (lastPublished === undefined || next === undefined) return lastPublished !== next;
  if (lastPublished.source !== next.source) return true;
  if (derived.some((field) => lastPublished[field] !== next[field])) return true;
  return (
    moved(lastPublished.measuredNodePowerW, next.measuredNodePowerW) ||
    // An older CRD drops these figures, so their appearance waits for another change or the heartbeat: else every pass would write.
    (lastPublished.serverPowerW !== undefined && moved(lastPublished.serverPowerW, next.serverPowerW)) ||
    (lastPublished.estimatedGpuPowerW !== undefined && next.estimatedGpuPowerW === undefined) ||
    Math.abs((next.powerTrendWPerMin ?? 0) - (lastPublished.powerTrendWPerMin ?? 0)) >= WATTS_THAT_MATTER
  );
}

function moved(from: Watts | undefined, to: Watts | undefined): boolean {
  if (from === undefined || to === undefined) return from !== to;
  const by = Math.abs(to - from);
  return by > 0 && (by >= WATTS_THAT_MATTER || by >= SHARE_THAT_MATTERS * from);
}
