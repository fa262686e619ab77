import { Ansis } from "ansis";
import { describe, expect, it } from "vitest";
import { type PowerPoint, renderPowerChart } from "./power-chart.ts";
import { PowerHistory } from "./power-history.ts";
import { renderLine } from "./text-line.ts";

const shown = (points: readonly PowerPoint[], width: number, rows: number) =>
  renderPowerChart(points, width, rows).map((line) => renderLine(line, width, new Ansis(0)));
const point = (watts: number, alwaysOnWatts = watts): PowerPoint => ({ watts, alwaysOnWatts });

describe("renderPowerChart", () => {
  it("draws power from the bottom and shades what the model would draw above it", () => {
    expect(shown([point(1000, 4000), point(2000, 4000), point(3500, 4000), point(4000)], 40, 2)).toEqual([
      "4.0 kW   ░░▆█",
      "wall     ▄███",
    ]);
  });

  it("draws a sparkline in one row", () => {
    expect(shown([point(1000), point(2000), point(4000), point(8000)], 40, 1)).toEqual(["wall     ▁▂▄█"]);
  });

  it("shows the last points that fit, on a scale of these", () => {
    const points = [point(90_000), ...Array.from({ length: 31 }, () => point(1000))];
    expect(shown(points, 40, 1)).toEqual([`wall     ${"█".repeat(31)}`]);
  });

  it("draws nothing without power", () => {
    expect(shown([point(0)], 40, 1)).toEqual(["wall      "]);
    expect(shown([], 40, 2)).toEqual(["0.0 kW   ", "wall     "]);
  });
});

it("the power history retains the last 1,000 points", () => {
  const history = new PowerHistory();
  for (let at = 0; at < 1500; at++) history.add(point(at));
  expect([history.points.length, history.points[0]?.watts, history.points.at(-1)?.watts]).toEqual([1000, 500, 1499]);
});
