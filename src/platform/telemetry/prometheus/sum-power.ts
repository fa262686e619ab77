import { type Instant, instant, type Milliseconds, type Watts, watts } from "../../../core/units/index.ts";
import { type DropCounter, invalidReason, isStale } from "../dropped-samples.ts";
import type { PrometheusSample } from "./prometheus-client.ts";

/**
 * Labels whose values are parts of a whole: samples that differ in one of them are added. Samples that differ only in other
 * labels (`pod`, `replica`, `job`, `path`) are the same thing seen twice, as by two Prometheus servers or after an exporter
 * was restarted: one of them is taken.
 */
const PARTS: readonly string[] = [
  ["zone", "rapl_zone", "package", "socket", "index", "mode"],
  ["gpu", "gpu_uuid", "UUID", "uuid", "device", "pci_bus_id", "GPU_I_ID"],
  ["psu", "feed", "phase", "pdu", "ups", "outlet", "circuit"],
  ["rack", "row", "room", "hall", "building", "cooling_zone", "crac", "chiller"],
].flat();

function partOf({ labels }: PrometheusSample): string {
  let part = "";
  for (const label of PARTS) {
    const value = labels[label];
    if (value !== undefined && value !== "") part += `${label}=${JSON.stringify(value)}`;
  }
  return part;
}

/** RAPL's zones contain one another. Packages are what caps limit; without them the platform's zone stands for the node. */
const WHOLE_ZONES = [/^package(?:-\d+)?$/, /^psys$/] as const;
const zoneOf = ({ labels }: PrometheusSample): string => labels.zone ?? labels.rapl_zone ?? "";

function withoutOverlap(samples: readonly PrometheusSample[], drops: DropCounter): readonly PrometheusSample[] {
  const whole = WHOLE_ZONES.find((zone) => samples.some((sample) => zone.test(zoneOf(sample))));
  if (whole === undefined) return samples;
  const kept = samples.filter((sample) => zoneOf(sample) === "" || whole.test(zoneOf(sample)));
  drops.add("overlapping", samples.length - kept.length);
  return kept;
}

/**
 * The power that samples of one thing (a node, a rack, the site) add up to, as old as the oldest. Of samples of one part the
 * newest counts, and of equally new ones the highest, since too little power reported is the worse mistake. If a part has
 * no good sample there is no sum, for a node without one of its GPUs would look idle.
 */
export function sumPower(
  samples: readonly PrometheusSample[],
  { now, staleAfter, drops }: { readonly now: Instant; readonly staleAfter: Milliseconds; readonly drops: DropCounter },
): { readonly power: Watts; readonly at: Instant } | undefined {
  const parts = Map.groupBy(withoutOverlap(samples, drops), partOf);
  let power = 0;
  let oldest = Number.POSITIVE_INFINITY;
  let complete = parts.size > 0;
  for (const part of parts.values()) {
    const good = part.filter((sample) => {
      const fault =
        invalidReason(sample.value, "not negative") ?? (isStale(sample.at, now, staleAfter) ? "stale" : undefined);
      if (fault !== undefined) drops.add(fault);
      return fault === undefined;
    });
    drops.add("duplicate", good.length - 1);
    const taken = good.toSorted((a, b) => b.at - a.at || b.value - a.value)[0];
    complete &&= taken !== undefined;
    power += taken?.value ?? 0;
    oldest = Math.min(oldest, taken?.at ?? oldest);
  }
  if (!complete) drops.add("incomplete", parts.size > 1 ? 1 : 0);
  return complete && Number.isFinite(power) ? { power: watts(power), at: instant(oldest) } : undefined;
}
