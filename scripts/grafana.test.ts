import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { counter } from "../src/platform/metrics/index.ts";
import { programs } from "../src/programs/index.ts";
import { grafanaDashboard, grafanaExpressions, metricsIn } from "./grafana.ts";

const catalogue = (
  await Promise.all(programs.map(async (program) => Object.values((await program.metrics?.()) ?? {})))
).flat();
const file = readFileSync(join(import.meta.dirname, "../charts/joulie/files/grafana.json"), "utf8");

describe("the Grafana dashboard", () => {
  it("DSH-17 names only metrics that a program serves", () => {
    const names = new Set(catalogue.map(({ name }) => name));
    const shipped = metricsIn(file);
    expect(shipped.length).toBeGreaterThan(10);
    expect(shipped.filter((name) => !names.has(name))).toEqual([]);
  });

  it("DSH-17 cannot be generated with a metric that no program serves, or a counter as it is", () => {
    expect(() => grafanaDashboard(catalogue.slice(1).filter(({ name }) => !name.includes("power_watts")))).toThrow(
      /names joulie_operator_node_power_watts, which no program serves/,
    );
    const asCounter = catalogue.map((one) =>
      one.name === "joulie_operator_node_power_watts" ? { ...counter("x_total", "x", []), name: one.name } : one,
    );
    expect(() => grafanaDashboard(asCounter)).toThrow(/counter joulie_operator_node_power_watts without rate/);
  });

  it("DSH-17 takes energy from counters and increase", () => {
    const energy = grafanaExpressions().filter((expression) => expression.includes("joules"));
    expect(energy.length).toBeGreaterThan(0);
    for (const expression of energy) expect(expression).toContain("increase(joulie_operator_node_energy_joules_total[");
  });

  it("is valid JSON with one id per panel and no panel over another", () => {
    const { panels } = JSON.parse(file) as {
      panels: { id: number; gridPos: { x: number; y: number; w: number; h: number } }[];
    };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const [index, { gridPos: one }] of panels.entries())
      for (const { gridPos: other } of panels.slice(index + 1))
        expect(
          one.x + one.w <= other.x ||
            other.x + other.w <= one.x ||
            one.y + one.h <= other.y ||
            other.y + other.h <= one.y,
        ).toBe(true);
  });
});
