import { isPositive, type Watts, watts } from "../../../core/units/index.ts";
import type { GpuCapBoard } from "../gpu/gpu-board.ts";
import { normalizedAmdId } from "./amdgpu-id.ts";

/** A card as `rocm-smi --json` tells it. */
export interface RocmCard {
  /** The N of `cardN`, by which rocm-smi is told which one. */
  readonly index: string;
  readonly board: GpuCapBoard;
  readonly limit?: Watts | undefined;
  readonly draw?: Watts | undefined;
}

/** Which it is depends on the board. */
const DRAW = ["Average Graphics Package Power (W)", "Current Socket Graphics Package Power (W)"];
/** The limit in force, for all that its name says. */
const LIMIT = "Max Graphics Package Power (W)";
const UNIQUE_ID = "Unique ID";
const SERIES = ["Card Series", "Card series"];

/**
 * The cards in rocm-smi's answer, which may have warnings before its JSON. A card without any power is the second die of a
 * package, whose cap is the first one's: no board. Throws where there is no JSON.
 */
export function parseRocmReport(text: string): readonly RocmCard[] {
  const report: unknown = JSON.parse(text.slice(Math.max(0, text.indexOf("{"))));
  if (typeof report !== "object" || report === null) return [];
  return Object.entries(report).flatMap(([name, values]: [string, unknown]) => {
    const index = /^card(\d+)$/.exec(name)?.[1];
    if (index === undefined || typeof values !== "object" || values === null) return [];
    const told = new Map<string, unknown>(Object.entries(values));
    const draw = DRAW.map((key) => figure(told.get(key))).find((value) => value !== undefined);
    const limit = figure(told.get(LIMIT));
    if (draw === undefined && limit === undefined) return [];
    return [{ index, draw, limit: isPositive(limit) ? limit : undefined, board: boardOf(index, told, limit) }];
  });
}

function boardOf(index: string, told: ReadonlyMap<string, unknown>, limit: Watts | undefined): GpuCapBoard {
  const model = SERIES.map((key) => told.get(key)).find((value) => typeof value === "string" && value !== "N/A");
  const unique = told.get(UNIQUE_ID);
  return {
    id: normalizedAmdId(typeof unique === "string" ? unique : undefined) ?? `amd-${index}`,
    vendor: "amd",
    model: typeof model === "string" ? model : undefined,
    device: { step: watts(1) },
    ...(isPositive(limit) ? {} : { locked: "rocm-smi tells no power limit of it" }),
    warnings: ["rocm-smi tells no range: a cap in percent needs the files of amdgpu, or the catalogue"],
  };
}

/** Figures come as texts; `N/A` is none. */
function figure(value: unknown): Watts | undefined {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && /^\d+(\.\d+)?$/.test(text.trim()) && Number.isFinite(Number(text))
    ? watts(Number(text))
    : undefined;
}
