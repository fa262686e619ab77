import type { Exactness, GpuVendor } from "../api/index.ts";
import { isPositive, type Watts, watts } from "../units/index.ts";

interface Entry {
  readonly key: string;
  readonly aliases: readonly string[];
  /** measured: read from a device. vendor: published by the vendor. assumed: not confirmed by either. For readers of the file. */
  readonly provenance?: "measured" | "vendor" | "assumed" | undefined;
  /** The public source of the figures. For readers of the file. */
  readonly source?: string | undefined;
}

/** Share of full power by share of full load, ascending in load; linear between the points. */
export type LoadCurve = readonly (readonly [load: number, power: number])[];

/** A CPU model, as catalogue files describe it. */
export interface CpuEntry extends Entry {
  /** The vendor that sells the CPU, in lower case: a Graviton belongs to Amazon. */
  readonly vendor: string;
  /** The product family, as in "EPYC 9004". Proxies are searched only within the family. */
  readonly family: string;
  readonly coresPerSocket: number;
  readonly threadsPerCore: number;
  readonly baseGHz: number;
  readonly boostGHz?: number | undefined;
  readonly tdpWatts: Watts;
  /** The configurable power range of a socket, if the vendor publishes one. */
  readonly minWatts?: Watts | undefined;
  readonly maxWatts?: Watts | undefined;
  readonly curve?: LoadCurve | undefined;
}

/** A GPU model, as catalogue files describe it. All watts are per board. */
export interface GpuEntry extends Entry {
  readonly vendor: GpuVendor;
  readonly minWatts: Watts;
  readonly defaultWatts: Watts;
  readonly maxWatts: Watts;
  readonly idleWatts: Watts;
  /** Dense FP16 TFLOPS of the tensor or matrix units; density scores compare boards by it. */
  readonly perf: number;
  /** The number of devices that one board always appears as, if each die is a GPU of its own; absent for one. */
  readonly devicesPerBoard?: number | undefined;
  /** The number of devices that one board can be partitioned into: one per compute die. */
  readonly maxPartitions?: number | undefined;
  /** For boards that support MIG: the memory that its profiles share. */
  readonly memoryGB?: number | undefined;
}

/** Names without a catalogue entry, and the entry that replaces them. */
export interface Proxy {
  readonly names: readonly string[];
  readonly standsFor: string;
  /** Completes "… stands in because". */
  readonly because: string;
}

/** Recognises unlisted members of a CPU family; `representative` replaces them if nothing else matches. */
export interface CpuFamily {
  readonly family: string;
  /** The brand that the name must contain: "Ryzen 7543" is not an EPYC. */
  readonly brand: string;
  /** The pattern of the family's model numbers after normalisation. */
  readonly model: RegExp;
  /** A word that marks another product line with similar numbers. */
  readonly except?: RegExp;
  readonly representative: string;
}

/** A target below this share of the maximum is almost certainly a typo: 0.5 % for 50 %. */
export const LOWEST_CAP_SHARE = 0.25;

/**
 * The lowest cap that a CPU package gets: the minimum that the device exposes, else a quarter of its maximum. RAPL and HSMP both
 * accept 2 W, and a package capped at 2 W takes its node out of service. The agent clamps to it, and the operator plans with it,
 * so that a twin predicts what the agent sets.
 */
export const packageCapFloor = (cpu: {
  readonly minWattsPerSocket?: Watts;
  readonly maxWattsPerSocket: Watts;
}): Watts => {
  const { minWattsPerSocket: min, maxWattsPerSocket: max } = cpu;
  if (isPositive(min)) return min;
  return watts(isPositive(max) ? LOWEST_CAP_SHARE * max : 0);
};

/**
 * The highest cap that a package of this model can be set to: the configurable maximum if the vendor publishes one (HSMP reports
 * it as the device's maximum), else the TDP. A similar model may have another range.
 */
export function catalogueSocketWatts({ tdpWatts, maxWatts = tdpWatts }: CpuEntry, match: Exactness): Watts {
  return match === "exact" ? watts(Math.max(tdpWatts, maxWatts)) : tdpWatts;
}

/** Turbo limits are a fifth above the TDP. A proxy may also be smaller than the real model. */
const MAX_OVER_RATED = 1.5;

/**
 * The highest plausible maximum of a socket. The firmware may report only a technical ceiling: 2 kW, or 4 kW on a TDP of
 * 95 W. Only the agent applies this limit to discovered values; the other programs use what the agent published.
 */
export function plausibleSocketWatts(entry: CpuEntry, match: Exactness): Watts {
  const tdp = entry.tdpWatts;
  const configurable = entry.maxWatts;
  if (match === "exact" && configurable !== undefined) return watts(Math.max(tdp, configurable));
  return watts(tdp * MAX_OVER_RATED);
}

/** The highest plausible maximum of a board: vendors sell some with a higher limit than that of the model. */
export const plausibleBoardWatts = (entry: GpuEntry): Watts => watts(entry.maxWatts * MAX_OVER_RATED);
