import { describe, expect, it } from "vitest";
import type { ExperimentRun } from "../run.ts";
import { compareArms } from "./compare.ts";
import { htmlReport } from "./html.ts";
import { linearAxis } from "./svg-chart.ts";

const figures = [
  { key: "windowKWhPerWork", title: "kWh/work <b>", digits: 2, compared: "same work" },
  { key: "performanceWaitP99Sec", title: "perf. p99", digits: 0, compared: "absolute" },
] as const;
const run = (arm: "least" | "most", seed: number, energy: number): ExperimentRun => ({
  contender: { arm, policy: "none" },
  seed,
  figures: { windowKWhPerWork: energy, performanceWaitP99Sec: (arm === "most" ? 35 : 30) * seed },
  done: Uint8Array.of(1),
  detail: {
    wattsByMinute: Float64Array.of(1000, 3000, 2000),
    kWhByState: { empty: 1, eco: 0, full: energy },
    waitQuantiles: { performance: [0, 0, 1, 2, 30, 60, 90], standard: [] },
  },
});
const runs = [run("least", 1, 2), run("most", 1, 1.5), run("least", 2, 2.2), run("most", 2, 1.6)];
const page = htmlReport({ conditions: { trace: "<script>" }, runs, figures, comparison: compareArms(runs, figures) });

describe("the HTML report", () => {
  it("has four plots with every arm, and asks for nothing from elsewhere", () => {
    expect(page.match(/<svg /g)).toHaveLength(4);
    expect(page.match(/<svg [^]*?<\/svg>/g)?.every((svg) => svg.includes("<polyline") || svg.includes("<rect"))).toBe(
      true,
    );
    expect(page).not.toMatch(/https?:|src=|<script|@import|url\(/);
    for (const arm of ["least", "most"]) expect(page).toContain(`</span>${arm}`);
  });

  it("shows differences in percent, and those of waits in seconds", () => {
    // -25 % and -27.3 %; 5 s and 10 s more.
    expect(page).toMatch(/<br>-26\.14 % \[/);
    expect(page).toMatch(/<td>53<br>\+7\.50 \[/);
  });

  it("escapes texts, and contains no number that is none", () => {
    expect(page).toContain("&lt;script&gt;");
    expect(page).toContain("kWh/work &lt;b&gt;");
    expect(page).not.toMatch(/NaN|Infinity|undefined/);
  });

  it("is complete for a single arm without a comparison", () => {
    const alone = htmlReport({ conditions: {}, runs: runs.slice(0, 1), figures });
    expect(alone.match(/<svg /g)).toHaveLength(4);
    expect(alone).not.toMatch(/NaN|undefined/);
  });
});

describe("an axis", () => {
  it("covers its range with round values", () => {
    const axis = linearAxis("kW", 3, 97);
    expect([axis.min, axis.max]).toEqual([0, 100]);
    expect(axis.ticks.map(({ text }) => text)).toEqual(["0", "20", "40", "60", "80", "100"]);
    expect(linearAxis("kWh", 1.21, 1.23).ticks.map(({ text }) => text)).toContain("1.215");
  });

  it("has ticks even for an empty or impossible range", () => {
    for (const [low, high] of [
      [5, 5],
      [Number.NaN, Number.NaN],
      [0, Number.NEGATIVE_INFINITY],
    ] as const) {
      expect(linearAxis("x", low, high).ticks.length).toBeGreaterThan(1);
    }
  });
});
