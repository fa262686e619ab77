import { isPositive, type Watts, watts } from "../../../core/units/index.ts";
import type { GpuCapBoard } from "../gpu/gpu-board.ts";

/** A card in the output of `rocm-smi --json`. */
export interface RocmCard {
  /** The N of `cardN`, which selects the card in rocm-smi commands. */
  readonly index: string;
  readonly board: GpuCapBoard;
  readonly limit?: Watts | undefined;
  readonly draw?: Watts | undefined;
}

/** The key depends on the board. */
const DRAW = ["Average Graphics Package Power (W)", "Current Socket Graphics Package Power (W)"];
/** The current limit, despite its name. */
const LIMIT = "Max Graphics Package Power (W)";
const UNIQUE_ID = "Unique ID";
const SERIES = ["Card Series", "Card series"];

/**
 * Parses the cards in rocm-smi's output, which may have warnings before the JSON. Skips a card without power values: it is the second
 * die of a package, whose first die has the cap. Throws if there is no JSON.
 */
export function parseRocmReport(text: string): readonly RocmCard[] {
  const report: unknown = JSON.parse(text.slice(Math.max(0, text.indexOf("{"))));
  if (typeof report !== "object" || report === null) return [];
  return Object.entries(report).flatMap(([name, values]: [string, unknown]) => {
    const index = /^card(\d+)$/.exec(name)?.[1];
    if (index === undefined || typeof values !== "object" || values === null) return [];
    const fields = new Map<string, unknown>(Object.entries(values));
    const draw = DRAW.map((key) => parseWatts(fields.get(key))).find((value) => value !== undefined);
    const limit = parseWatts(fields.get(LIMIT));
    if (draw === undefined && limit === undefined) return [];
    return [{ index, draw, limit: isPositive(limit) ? limit : undefined, board: boardOf(index, fields, limit) }];
  });
}

function boardOf(index: string, fields: ReadonlyMap<string, unknown>, limit: Watts | undefined): GpuCapBoard {
  const model = SERIES.map((key) => fields.get(key)).find((value) => typeof value === "string" && value !== "N/A");
  const unique = fields.get(UNIQUE_ID);
  return {
    id: normalizedAmdId(typeof unique === "string" ? unique : undefined) ?? `amd-${index}`,
    vendor: "amd",
    model: typeof model === "string" ? model : undefined,
    device: { step: watts(1) },
    ...(isPositive(limit) ? {} : { locked: "rocm-smi reports no power limit for it" }),
    warnings: ["rocm-smi reports no range: a cap in percent needs the amdgpu files or a catalogue entry"],
  };
}

/** Values are texts; `N/A` means none. */
function parseWatts(value: unknown): Watts | undefined {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && /^\d+(\.\d+)?$/.test(text.trim()) && Number.isFinite(Number(text))
    ? watts(Number(text))
    : undefined;
}

/** The board's unique id in one format for sysfs and rocm-smi. It survives slot and number changes. Undefined if the board has none. */
export function normalizedAmdId(text: string | undefined): string | undefined {
  const digits = /^(?:0x)?([0-9a-f]{1,16})$/i.exec(text?.trim() ?? "")?.[1]?.toLowerCase();
  return digits === undefined || /^0+$/.test(digits) ? undefined : digits.padStart(16, "0");
}
