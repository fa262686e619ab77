import { watts } from "../../units/index.ts";
import { type CpuEntry, type Figure, figure, type LoadCurve, type Provenance } from "./entry.ts";
import type { Source } from "./sources.ts";

/** model, cores per socket, base GHz, boost GHz, TDP watts, configurable minimum and maximum watts if published. */
export type CpuRow = readonly [
  model: string,
  cores: number,
  baseGHz: number,
  boostGHz: number,
  tdp: number,
  configurableMin?: number,
  configurableMax?: number,
];

type Origin = readonly [Provenance, Source];

interface CpuTable {
  readonly vendor: string;
  readonly family: string;
  /** The prefix of the key: `amd-epyc-` and `9654`. */
  readonly keyPrefix: string;
  readonly threadsPerCore: 1 | 2;
  /** The source of cores, base clock and TDP; also of boost and configurable range unless stated otherwise. */
  readonly from: Origin;
  readonly boostFrom?: Origin;
  readonly configurableFrom?: Origin;
  readonly curve?: LoadCurve;
  /** Further spellings of one model. */
  readonly also?: (model: string) => readonly string[];
}

const from = <Value extends number>(value: Value, [provenance, source]: Origin): Figure<Value> =>
  figure(value, provenance, source);

/** Builds entries from a table like those that vendors publish. Every value has the provenance of its column. */
export function cpuTable(table: CpuTable, rows: readonly CpuRow[]): CpuEntry[] {
  const boostFrom = table.boostFrom ?? table.from;
  const configurableFrom = table.configurableFrom ?? boostFrom;
  return rows.map(([model, cores, baseGHz, boostGHz, tdp, min, max]) => ({
    key: `${table.keyPrefix}${model.toLowerCase().replaceAll("+", "plus").replaceAll(" ", "-")}`,
    vendor: table.vendor,
    family: table.family,
    aliases: [model, ...(table.also?.(model) ?? [])],
    coresPerSocket: from(cores, table.from),
    threadsPerCore: table.threadsPerCore,
    tdp: from(watts(tdp), table.from),
    ...(min !== undefined && max !== undefined
      ? { configurable: { min: from(watts(min), configurableFrom), max: from(watts(max), configurableFrom) } }
      : {}),
    baseGHz: from(baseGHz, table.from),
    boostGHz: from(boostGHz, boostFrom),
    ...(table.curve ? { curve: table.curve } : {}),
  }));
}

/** SPECpower measures whole servers at the wall, so only the ratio of idle to full load is applied to the socket. */
export const idleToFull = (idleShare: number, provenance: Provenance, source: Source): LoadCurve => ({
  points: [
    [0, idleShare],
    [1, 1],
  ],
  provenance,
  source,
});
