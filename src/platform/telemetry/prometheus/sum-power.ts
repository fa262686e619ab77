import { type Instant, instant, type Watts, watts } from "../../../core/units/index.ts";
import { type DropCounter, faultOf } from "../dropped-samples.ts";
import type { PrometheusSample } from "./prometheus-client.ts";

/**
 * Labels that identify a part of a whole: samples that differ in one of them are added. Samples that differ only in other labels
 * (`pod`, `replica`, `job`, `path`) are duplicates, from two Prometheus servers or a restarted exporter: only one is used.
 */
const PART_LABELS: readonly string[] = [
  ["zone", "rapl_zone", "package", "socket", "index", "mode"],
  ["gpu", "gpu_uuid", "UUID", "uuid", "device", "pci_bus_id", "GPU_I_ID"],
  ["psu", "feed", "phase", "pdu", "ups", "outlet", "circuit"],
  ["rack", "row", "room", "hall", "building", "cooling_zone", "crac", "chiller"],
].flat();

function partOf({ labels }: PrometheusSample): string {
  let part = "";
  for (const label of PART_LABELS) {
    const value = labels[label];
    if (value !== undefined && value !== "") part += `${label}=${JSON.stringify(value)}`;
  }
  return part;
}

/** RAPL zones contain one another. Caps limit packages, so these are used; without them the platform zone stands for the node. */
const WHOLE_ZONES = [/^package(?:-\d+)?$/, /^psys$/] as const;
const zoneOf = ({ labels }: PrometheusSample): string => labels.zone ?? labels.rapl_zone ?? "";

function withoutOverlap(samples: readonly PrometheusSample[], drops: DropCounter): readonly PrometheusSample[] {
  const whole = WHOLE_ZONES.find((zone) => samples.some((sample) => zone.test(zoneOf(sample))));
  if (whole === undefined) return samples;
  const included = samples.filter((sample) => zoneOf(sample) === "" || whole.test(zoneOf(sample)));
  drops.add("overlapping", samples.length - included.length);
  return included;
}

/**
 * The total power of one node, rack or site, as old as its oldest sample. Of several samples of one part the newest is used, and of
 * equally new ones the highest, because underreporting is the worse error. If a part has no valid sample there is no total: a node
 * without one of its GPUs would look idle.
 */
export function sumPower(
  samples: readonly PrometheusSample[],
  { now, drops }: { readonly now: Instant; readonly drops: DropCounter },
): { readonly power: Watts; readonly at: Instant } | undefined {
  const parts = Map.groupBy(withoutOverlap(samples, drops), partOf);
  let power = 0;
  let oldest = Infinity;
  let complete = parts.size > 0;
  for (const part of parts.values()) {
    const valid = part.filter((sample) => {
      const fault = faultOf(sample, now);
      if (fault !== undefined) drops.add(fault);
      return fault === undefined;
    });
    drops.add("duplicate", valid.length - 1);
    const used = valid.toSorted((a, b) => b.at - a.at || b.value - a.value)[0];
    complete &&= used !== undefined;
    power += used?.value ?? 0;
    oldest = Math.min(oldest, used?.at ?? oldest);
  }
  if (!complete) drops.add("incomplete", parts.size > 1 ? 1 : 0);
  return complete && Number.isFinite(power) ? { power: watts(power), at: instant(oldest) } : undefined;
}
