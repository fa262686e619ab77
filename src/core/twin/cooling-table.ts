import { type Celsius, fail, ok, type Result, type Watts } from "../units/index.ts";
import { type CoolingModel, toScore } from "./cooling.ts";

const HEADER = "nodePowerW,ambientC,stress";
/** A grid of 316 × 316 points. A finer one only takes memory. */
const MAX_POINTS = 100_000;

interface Grid {
  readonly powers: readonly number[];
  readonly ambients: readonly number[];
  /** By power, then by ambient temperature. */
  readonly stress: readonly (readonly number[])[];
}

/**
 * A cooling model from a table, such as a thermal simulation writes: CSV with a row for each point of a grid of any spacing, in any
 * order. Between the points stress is interpolated, below the grid it is that of the edge, above it rises as it did last, so that
 * it is never underestimated.
 */
export function tableCoolingModel(text: string): Result<CoolingModel, string> {
  const grid = readGrid(text);
  if (!grid.ok) return grid;
  const { powers, ambients, stress } = grid.value;
  return ok({
    coolingStress(nodePower: Watts, ambient: Celsius) {
      const power = positionIn(powers, nodePower);
      const air = positionIn(ambients, ambient);
      const at = (row: number): number => {
        const [low = Number.NaN, high = low] = [stress[row]?.[air.index], stress[row]?.[air.index + 1]];
        return low + air.share * (high - low);
      };
      const low = at(power.index);
      return toScore(low + (powers.length === 1 ? 0 : power.share * (at(power.index + 1) - low)));
    },
  });
}

/** The interval of the value, and where in it: 0 to 1, more beyond the last point. */
function positionIn(points: readonly number[], value: number): { readonly index: number; readonly share: number } {
  if (Number.isNaN(value)) return { index: 0, share: Number.NaN };
  if (points.length === 1) return { index: 0, share: 0 };
  const above = points.findIndex((point) => point > value);
  const index = above === -1 ? points.length - 2 : Math.max(0, above - 1);
  const [low = 0, high = 1] = [points[index], points[index + 1]];
  return { index, share: Math.max(0, (value - low) / (high - low)) };
}

function readGrid(text: string): Result<Grid, string> {
  const [header = "", ...lines] = text.trim().split(/\r?\n/);
  if (header.replaceAll(/[\s"]/g, "") !== HEADER) return fail(`the first line has to be ${HEADER}`);
  if (lines.length === 0 || lines.length > MAX_POINTS)
    return fail(`has ${lines.length} points, allowed are 1 to ${MAX_POINTS}`);
  const points = new Map<number, Map<number, number>>();
  for (const [index, line] of lines.entries()) {
    const where = `line ${index + 2}`;
    const cells = line.split(",").map((cell) => (cell.trim() === "" ? Number.NaN : Number(cell)));
    const [power = Number.NaN, ambient = Number.NaN, stress = Number.NaN] = cells;
    if (cells.length !== 3 || !cells.every(Number.isFinite))
      return fail(`${where} is not three numbers: ${line.slice(0, 80)}`);
    if (power < 0 || stress < 0 || stress > 100) return fail(`${where}: power is at least 0 and stress from 0 to 100`);
    const row = points.get(power) ?? new Map<number, number>();
    if (row.has(ambient)) return fail(`${where} repeats the point ${power} W, ${ambient} °C`);
    points.set(power, row.set(ambient, stress));
  }
  return asGrid(points);
}

function asGrid(points: ReadonlyMap<number, ReadonlyMap<number, number>>): Result<Grid, string> {
  const powers = [...points.keys()].toSorted((a, b) => a - b);
  const ambients = [...new Set([...points.values()].flatMap((row) => [...row.keys()]))].toSorted((a, b) => a - b);
  const stress: number[][] = [];
  for (const [index, power] of powers.entries()) {
    const row: number[] = [];
    for (const ambient of ambients) {
      const value = points.get(power)?.get(ambient);
      if (value === undefined)
        return fail(`the point ${power} W, ${ambient} °C is missing: every power needs every temperature`);
      const [colder = 0, weaker = 0] = [row.at(-1), stress[index - 1]?.[row.length]];
      if (value < colder || value < weaker)
        return fail(`stress falls at ${power} W, ${ambient} °C: it may not fall as power or temperature rises`);
      row.push(value);
    }
    stress.push(row);
  }
  return ok({ powers, ambients, stress });
}
