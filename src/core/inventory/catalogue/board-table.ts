import type { GpuVendor } from "../../api/index.ts";
import { watts } from "../../units/index.ts";
import { figure, type GpuEntry } from "./entry.ts";
import { SOURCES, type Source } from "./sources.ts";

/** key, [minimum, default, maximum] board watts, idle watts, dense FP16 TFLOPS, spellings. */
export type BoardRow = readonly [
  key: string,
  limits: readonly [min: number, normal: number, max: number],
  idle: number,
  perf: number,
  aliases: readonly string[],
];

interface BoardTable {
  readonly vendor: GpuVendor;
  /** The source of default watts and TFLOPS. */
  readonly sheet: Source;
  /** The source of the power range; no vendor lists it on a data sheet. */
  readonly limits: Source;
  /** Boards whose data sheet was not compared with a second source. */
  readonly unchecked: ReadonlySet<string>;
}

/** Default watts and TFLOPS are vendor values. Limits and idle watts are assumed until a measurement is published. */
export function boards(table: BoardTable, rows: readonly BoardRow[]): GpuEntry[] {
  return rows.map(([key, [min, normal, max], idle, perf, aliases]) => {
    const sheet = table.unchecked.has(key) ? "assumed" : "vendor";
    return {
      key,
      vendor: table.vendor,
      aliases,
      minWatts: figure(watts(min), "assumed", table.limits),
      defaultWatts: figure(watts(normal), sheet, table.sheet),
      maxWatts: max === normal ? figure(watts(max), sheet, table.sheet) : figure(watts(max), "assumed", table.limits),
      idleWatts: figure(watts(idle), "assumed", SOURCES.gpuIdleEstimate),
      perf: figure(perf, sheet, table.sheet),
    };
  });
}
