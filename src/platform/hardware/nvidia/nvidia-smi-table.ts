import { isPositive, type Watts, watts } from "../../../core/units/index.ts";
import { type GpuCapBoard, rangeWarnings } from "../gpu/gpu-board.ts";

/** The queried columns. An older driver reports the first column that it does not support. */
export const smiColumns = [
  "index",
  "uuid",
  "name",
  "power.draw",
  "power.limit",
  "enforced.power.limit",
  "power.default_limit",
  "power.min_limit",
  "power.max_limit",
  "mig.mode.current",
  "persistence_mode",
] as const;

export type SmiColumn = (typeof smiColumns)[number];

/** One board as nvidia-smi prints it. A cell without a number is left out. */
export interface SmiRow {
  readonly board: GpuCapBoard;
  readonly draw?: Watts | undefined;
  readonly limit?: Watts | undefined;
  readonly enforced?: Watts | undefined;
}

/** Parses the output of `--format=csv,noheader,nounits`. Skips lines that do not have the queried columns. */
export const parseSmiTable = (text: string, columns: readonly SmiColumn[]): readonly SmiRow[] =>
  text
    .split("\n")
    .map((line) => line.trim().split(/, ?/))
    .filter((cells) => cells.length === columns.length && /^\d+$/.test(cells[0] ?? ""))
    .map((cells) => rowOf(new Map(columns.map((column, place) => [column, cells[place] ?? ""]))));

function rowOf(cells: ReadonlyMap<SmiColumn, string>): SmiRow {
  const cell = (column: SmiColumn): string => cells.get(column) ?? "";
  const uuid = cell("uuid");
  const id = isPresent(uuid) ? uuid : `nvidia-${cell("index")}`;
  const range = { min: positive(cell("power.min_limit")), max: positive(cell("power.max_limit")) };
  const limit = positive(cell("power.limit"));
  const lost = [uuid, cell("power.limit"), cell("power.draw")].find((text) => /error|lost|reset/i.test(text));
  const mig = cell("mig.mode.current");
  const warnings = [
    ...rangeWarnings(range),
    ...(mig === "Enabled" ? ["MIG is enabled: power and limit apply to the whole board, not to a slice"] : []),
    ...(cell("persistence_mode") === "Disabled" ? [NO_PERSISTENCE] : []),
  ];
  const board: GpuCapBoard = {
    id,
    vendor: "nvidia",
    model: isPresent(cell("name")) ? cell("name") : undefined,
    device: { ...range, step: watts(1) },
    defaultLimit: positive(cell("power.default_limit")),
    ...(mig === "Enabled" || mig === "Disabled" ? { slicing: ["mig"] } : {}),
    ...(lost === undefined ? {} : { lost: `nvidia-smi reports ${lost}` }),
    ...(lost === undefined && limit === undefined
      ? { locked: `it has no settable power limit: nvidia-smi reports ${cell("power.limit")}` }
      : {}),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
  return { board, draw: parseWatts(cell("power.draw")), limit, enforced: positive(cell("enforced.power.limit")) };
}

const NO_PERSISTENCE =
  "persistence mode is off: the limit returns to its default when the last program closes the GPU; run nvidia-persistenced";

/** False for placeholders: `[N/A]`, `[Not Supported]`, `[Unknown Error]`, `N/A`. */
const isPresent = (text: string): boolean => text !== "" && !text.startsWith("[") && text !== "N/A";

const parseWatts = (text: string): Watts | undefined =>
  /^\d+(\.\d+)?$/.test(text) && Number.isFinite(Number(text)) ? watts(Number(text)) : undefined;

const positive = (text: string): Watts | undefined => {
  const value = parseWatts(text);
  return isPositive(value) ? value : undefined;
};
