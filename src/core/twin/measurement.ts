import type { PowerMeasurement } from "../api/index.ts";
import { type Instant, isNonNegative, percentOf, type Watts, type WattsPerMinute, watts } from "../units/index.ts";
import { type EffectiveCaps, isPercentage } from "./caps.ts";
import { type DevicePower, maxPowerOf, type PowerEnvelope } from "./envelope.ts";
import type { PowerReading } from "./power-source.ts";

/** The power CPUs and GPUs may draw under their caps: from hardware and target alone, never from a live reading. */
export function cappedPower(hardware: PowerEnvelope, caps: EffectiveCaps): DevicePower | undefined {
  const maxima = maxPowerOf(hardware);
  if (maxima === undefined || !isPercentage(caps.cpuPct) || !isPercentage(caps.gpuPct)) return undefined;
  const capped = { cpu: percentOf(caps.cpuPct, maxima.cpu), gpu: percentOf(caps.gpuPct, maxima.gpu) };
  return Number.isFinite(capped.cpu + capped.gpu) ? capped : undefined;
}

/**
 * The block the scheduler projects headroom with. Without a budget above 0 W there is nothing to measure against, hence no
 * block; without a reading there is a budget but no figure, for missing telemetry is missing and not 0 W.
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
    ...(Number.isFinite(trend) ? { powerTrendWPerMin: trend } : {}),
  };
}

/** A time the API would refuse is left out: the watts are still worth telling. */
const timestamp = (at: Instant): { measuredAt?: string } =>
  at >= 0 && at <= END_OF_9999 ? { measuredAt: new Date(at).toISOString() } : {};
const END_OF_9999 = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const WATTS_THAT_MATTER = 5;
const SHARE_THAT_MATTERS = 0.01;

const derived = ["cpuCappedPowerW", "gpuCappedPowerW", "nodeCappedPowerW", "cpuTdpW", "gpuTdpW", "nodeTdpW"] as const;

/**
 * Whether the new block is worth a write: another source, budget or maximum, a reading that appeared or vanished, or one that
 * moved by 1 % or 5 W. A trend counts once it moved by 5 W/min, or a node would go on rising long after it has settled.
 * Held against what was published last, and not against the tick before: a slow drift never moves by 5 W within one tick.
 */
export function isWorthPublishing(
  lastPublished: PowerMeasurement | undefined,
  next: PowerMeasurement | undefined,
): boolean {
  if (lastPublished === undefined || next === undefined) return lastPublished !== next;
  if (lastPublished.source !== next.source) return true;
  if (derived.some((field) => lastPublished[field] !== next[field])) return true;
  return (
    moved(lastPublished.measuredNodePowerW, next.measuredNodePowerW) ||
    Math.abs((next.powerTrendWPerMin ?? 0) - (lastPublished.powerTrendWPerMin ?? 0)) >= WATTS_THAT_MATTER
  );
}

function moved(from: Watts | undefined, to: Watts | undefined): boolean {
  if (from === undefined || to === undefined) return from !== to;
  const by = Math.abs(to - from);
  return by > 0 && (by >= WATTS_THAT_MATTER || by >= SHARE_THAT_MATTERS * from);
}
