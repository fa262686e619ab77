import type { GpuVendor } from "../../api/index.ts";
import type { Watts } from "../../units/index.ts";
import type { Source } from "./sources.ts";

/** measured: read from a device. vendor: published by the vendor. assumed: not confirmed by either. */
export type Provenance = "measured" | "vendor" | "assumed";

/** A number with its provenance. */
export interface Figure<Value extends number = number> {
  readonly value: Value;
  readonly provenance: Provenance;
  readonly source: Source;
}

export function figure<Value extends number>(value: Value, provenance: Provenance, source: Source): Figure<Value> {
  return { value, provenance, source };
}

/** Share of full power by share of full load, ascending in load; linear between the points. */
export interface LoadCurve {
  readonly points: readonly (readonly [load: number, power: number])[];
  readonly provenance: Provenance;
  readonly source: Source;
}

export interface CpuEntry {
  readonly key: string;
  /** The vendor that sells the CPU, in lower case: a Graviton belongs to Amazon. */
  readonly vendor: string;
  /** The product family, as in "EPYC 9004". Proxies are searched only within the family. */
  readonly family: string;
  readonly aliases: readonly string[];
  readonly coresPerSocket: Figure;
  readonly threadsPerCore: number;
  readonly tdp: Figure<Watts>;
  /** The configurable power range of a socket, if the vendor publishes one. */
  readonly configurable?: { readonly min: Figure<Watts>; readonly max: Figure<Watts> };
  readonly baseGHz: Figure;
  readonly boostGHz: Figure;
  readonly curve?: LoadCurve;
}

export interface GpuEntry {
  readonly key: string;
  readonly vendor: GpuVendor;
  readonly aliases: readonly string[];
  readonly minWatts: Figure<Watts>;
  readonly defaultWatts: Figure<Watts>;
  readonly maxWatts: Figure<Watts>;
  readonly idleWatts: Figure<Watts>;
  /** The number of devices that one board always appears as, if each die is a GPU of its own; absent for one. */
  readonly devicesPerBoard?: number;
  /** The number of devices that one board can be partitioned into: one per compute die. */
  readonly maxPartitions?: number;
  /** For boards that support MIG: the memory that its profiles share. */
  readonly memoryGB?: number;
  /** Dense FP16 TFLOPS of the tensor or matrix units; density scores compare boards by it. */
  readonly perf: Figure;
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
