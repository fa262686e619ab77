import type { GpuVendor } from "../../api/index.ts";
import type { Watts } from "../../units/index.ts";
import type { Source } from "./sources.ts";

/** measured: somebody read it off the device. vendor: the maker publishes it. assumed: neither could be confirmed here. */
export type Provenance = "measured" | "vendor" | "assumed";

/** A number that says how we know it. */
export interface Figure<Value extends number = number> {
  readonly value: Value;
  readonly provenance: Provenance;
  readonly source: Source;
}

export function figure<Value extends number>(value: Value, provenance: Provenance, source: Source): Figure<Value> {
  return { value, provenance, source };
}

/** Share of full power at a share of full load, ascending in load; power in between is linear. */
export interface LoadCurve {
  readonly points: readonly (readonly [load: number, power: number])[];
  readonly provenance: Provenance;
  readonly source: Source;
}

export interface CpuEntry {
  readonly key: string;
  /** In lower case; who sells the CPU, so a Graviton is Amazon's. */
  readonly vendor: string;
  /** Product family, as in "EPYC 9004": proxies are looked for among its members only. */
  readonly family: string;
  readonly aliases: readonly string[];
  readonly coresPerSocket: Figure;
  readonly threadsPerCore: number;
  readonly tdp: Figure<Watts>;
  /** The range the firmware lets a socket be configured to, where the vendor publishes one. */
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
  /** Devices one board always appears as, where its dies are GPUs of their own; absent where it is one. */
  readonly devicesPerBoard?: number;
  /** Devices one board can be partitioned into: one for each compute die. */
  readonly mostPartitions?: number;
  /** Of boards that MIG can cut: what its profiles share. */
  readonly memoryGB?: number;
  /** Dense FP16 TFLOPS of the tensor or matrix units: what density compares boards by. */
  readonly perf: Figure;
}

/** Names that are not a model of the catalogue, and the model that stands in for them. */
export interface Proxy {
  readonly names: readonly string[];
  readonly standsFor: string;
  /** Completes "… stands in because". */
  readonly because: string;
}

/** How unknown members of a CPU family are recognised, and which member stands in when nothing says more. */
export interface CpuFamily {
  readonly family: string;
  /** The word that must be in the name: "Ryzen 7543" is no EPYC. */
  readonly brand: string;
  /** What a model number of this family looks like after normalisation. */
  readonly model: RegExp;
  /** A word that puts it in another line of products, however like its number is. */
  readonly except?: RegExp;
  readonly representative: string;
}
