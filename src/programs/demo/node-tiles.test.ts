import { Ansis } from "ansis";
import { describe, expect, it } from "vitest";
import { countStates, type NodeState, type NodeTile, type RackTiles, renderTiles } from "./node-tiles.ts";
import { renderLine } from "./text-line.ts";

const states: readonly NodeState[] = ["performance", "eco", "draining", "asleep", "waking", "stopping", "failed"];
const racksOf = (racks: number, nodes = 10): readonly RackTiles[] =>
  Array.from({ length: racks }, (_, rack) => ({
    rack: `rack-${rack + 1}`,
    nodes: Array.from({ length: nodes }, (__, at): NodeTile => {
      const state = states[at % states.length] ?? "unknown";
      return {
        name: `sim-${String(10 * rack + at).padStart(3, "0")}`,
        state,
        watts: state === "asleep" ? 0 : 100 * at,
        fullWatts: 900,
      };
    }),
  }));
const shown = (racks: readonly RackTiles[], width: number, rows: number) =>
  renderTiles(racks, width, rows).map((line) => renderLine(line, width, new Ansis(0)).trimEnd());

describe("renderTiles", () => {
  it("shows name, state, bar and watts of each node where there is room", () => {
    const lines = shown(racksOf(4), 199, 10);
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^rack-1 {3}sim-000 P▁ {4}0 W {2}sim-001 e▁ {2}100 W .*sim-003 z {5}off {2}sim-004 w▄/);
    expect(lines[0]).toMatch(/sim-009 d█ {2}900 W$/);
    expect(lines[3]).toContain("sim-039");
  });

  it("leaves out watts, then names, then bars, as room gets scarce", () => {
    expect(shown(racksOf(4), 99, 8)[0]).toMatch(/^rack-1 {3}sim-000 P▁ {2}sim-001 e▁/);
    expect(shown(racksOf(4), 79, 4)).toEqual([
      "rack-1   P▁ e▁ d▂ z  w▄ s▅ !▆ P▇ e█ d█   rack-2   P▁ e▁ d▂ z  w▄ s▅ !▆ P▇ e█ d█",
      "rack-3   P▁ e▁ d▂ z  w▄ s▅ !▆ P▇ e█ d█   rack-4   P▁ e▁ d▂ z  w▄ s▅ !▆ P▇ e█ d█",
    ]);
    expect(shown(racksOf(10), 79, 4)[0]).toMatch(/^rack-1 {3}Pedzws!Ped {2}rack-2 {3}Pedzws!Ped/);
  });

  it("shows one tile per rack if there are too many nodes, and never more lines than allowed", () => {
    const lines = shown(racksOf(200), 79, 9);
    expect(lines).toHaveLength(9);
    expect(lines[0]).toBe("one tile for each rack: its most frequent state");
    expect(lines[1]).toMatch(/^(P▄ ){25}P▄$/);
    expect(shown(racksOf(1000), 79, 4)).toHaveLength(4);
  });

  it("wraps the nodes of a rack that is wider than the terminal", () => {
    const lines = shown(racksOf(1, 30), 40, 5);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^rack-1 {3}P▁ e▁/);
    expect(lines[1]).toMatch(/^ {9}[a-zP]/);
  });

  it("shows nothing without nodes", () => {
    expect(shown([], 79, 4)).toEqual([]);
  });
});

it("counts nodes by state", () => {
  expect(countStates(racksOf(2))).toEqual({
    performance: 4,
    eco: 4,
    draining: 4,
    stopping: 2,
    asleep: 2,
    waking: 2,
    failed: 2,
    unknown: 0,
  });
});
