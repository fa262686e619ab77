import { kilowatts } from "./quantities.ts";
import { label, roomBesideLabel, type Segment, type TextLine } from "./text-line.ts";

/** Power at the wall at one point in time. */
export interface PowerPoint {
  readonly watts: number;
  /** Modelled: without caps and with every node on. */
  readonly alwaysOnWatts: number;
}

const EIGHTHS = "▁▂▃▄▅▆▇█";
const SAVED = "░";

/** Draws the last points as columns of power, with the share saved against the model shaded above them. */
export function renderPowerChart(points: readonly PowerPoint[], width: number, rows: number): readonly TextLine[] {
  const room = roomBesideLabel(width);
  const shown = points.slice(-room);
  const scale = Math.max(1, ...shown.map(({ watts, alwaysOnWatts }) => Math.max(watts, alwaysOnWatts)));
  const columns = shown.map(({ watts, alwaysOnWatts }) => ({
    drawn: eighths(watts, scale, rows),
    saved: eighths(alwaysOnWatts, scale, rows),
  }));
  return Array.from({ length: rows }, (_, row): TextLine => {
    const isLast = row === rows - 1;
    const name = isLast ? "wall" : row === 0 ? kilowatts(scale) : "";
    return [label(name), ...runs(columns, 8 * (rows - 1 - row))];
  });
}

const eighths = (watts: number, scale: number, rows: number): number => Math.round((8 * rows * watts) / scale);

/** Joins neighbours of the same style, so that a line has few colour changes. */
function runs(columns: readonly { readonly drawn: number; readonly saved: number }[], floor: number): Segment[] {
  const made: [text: string, style: "green" | "dim"][] = [];
  for (const { drawn, saved } of columns) {
    const level = Math.min(8, drawn - floor);
    const [character, style] =
      level > 0 ? ([EIGHTHS[level - 1] ?? " ", "green"] as const) : ([saved > floor ? SAVED : " ", "dim"] as const);
    const last = made.at(-1);
    if (last?.[1] === style) last[0] += character;
    else made.push([character, style]);
  }
  return made;
}
