import { Ansis } from "ansis";
import { describe, expect, it } from "vitest";
import { instant, milliseconds, watts } from "../../core/units/index.ts";
import type { DemoCluster } from "./demo-cluster.ts";
import { plainLine } from "./plain-line.ts";
import { renderFrame } from "./view.ts";
import type { ViewData } from "./view-data.ts";
import { renderExplanation } from "./view-explanation.ts";
import { pagesOf } from "./welcome-text.ts";

const plain = new Ansis(0);
const node = (name: string, state: ViewData["racks"][number]["nodes"][number]["state"]) => ({
  name,
  state,
  watts: 300,
  fullWatts: 800,
});
const frame: ViewData = {
  time: instant(Date.UTC(2030, 0, 1, 18, 21, 51)),
  speed: { reached: 59.6, wanted: 60 },
  running: milliseconds(21_900),
  duration: milliseconds(60_000),
  power: { drawn: watts(40_000), capped: 60_000, uncapped: 80_000 },
  history: Array.from({ length: 300 }, (_, at) => ({ watts: 30_000 + at, alwaysOnWatts: 60_000 })),
  pue: 1.216,
  racks: [
    { rack: "rack-1", nodes: [node("sim-000", "performance"), node("sim-001", "eco"), node("sim-002", "draining")] },
    { rack: "rack-2", nodes: [node("sim-003", "eco"), node("sim-004", "eco")] },
  ],
  sleep: undefined,
  drains: { deferred: 6, completed: 3, takenBack: 1 },
  draining: [
    { node: "sim-035", since: instant(Date.UTC(2030, 0, 1, 18, 19)), pods: 1 },
    { node: "sim-029", since: instant(Date.UTC(2030, 0, 1, 18, 20)), pods: 2 },
  ],
  pods: { waiting: 6, running: 128, performance: 29, finished: 82 },
  energy: {
    usedKwh: 10,
    notUsedKwh: { estimate: 3.33, low: 2, high: 4 },
    notUsedPct: { estimate: 25, low: 17, high: 29 },
  },
  news: Array.from({ length: 40 }, (_, at) => ({
    at: instant(Date.UTC(2030, 0, 1, 18, 20, at)),
    about: "sim-029",
    text: `eco is planned; waiting for ${at} performance pods to end (after the 17 performance nodes)`,
    tone: "waits" as const,
  })),
  notice: undefined,
};
const text = (change: Partial<ViewData> = {}, columns = 100, rows = 30) =>
  renderFrame({ ...frame, ...change }, { columns, rows }, plain);
const lineOf = (lines: readonly string[], name: string) => lines.find((line) => line.startsWith(name)) ?? "";

describe("renderFrame", () => {
  it("shows the state of the cluster line by line", () => {
    const lines = text();
    const shown = lines.join("\n");
    expect(lines[0]).toBe("joulie demo  18:21:51 at 60 times the speed  0:21 of 1:00");
    expect(shown).toContain("40.0 kW drawn of 60.0 kW under caps, 80.0 kW without");
    expect(shown).toContain("nodes    P 1 performance   e 3 eco   d 1 draining");
    expect(shown).toContain("rack-1   sim-000 P▄");
    expect(shown).toContain("6 deferred, 3 completed, 1 taken back; sim-035 (1 pod, 3 min), sim-029 (2 pods, 2 min)");
    expect(shown).toContain("128 running (29 performance), 6 waiting, 82 finished");
    expect(shown).toContain("energy   10.0 kWh at the wall; PUE 1.22");
    expect(shown).toContain("saved    3.3 kWh (25.0 %) so far; model: the same pods, no caps, every node on");
    expect(shown).toContain("  18:20:39 sim-029 eco is planned; waiting for 39 performance pods to end");
  });

  it("draws power, caps and the hardware limit on one scale over the full width", () => {
    const bar = lineOf(text({}, 89), "power");
    expect([bar.match(/█/g)?.length, bar.match(/▒/g)?.length, bar.match(/░/g)?.length]).toEqual([40, 20, 20]);
    const none = lineOf(text({ power: { drawn: watts(0), capped: 0, uncapped: 0 } }, 69), "power");
    expect(none.match(/░/g)?.length).toBe(60);
    const over = lineOf(text({ power: { drawn: watts(90), capped: 60, uncapped: 80 } }, 69), "power");
    expect(over.match(/█/g)?.length).toBe(60);
  });

  it.each([
    [79, 23],
    [99, 29],
    [199, 49],
    [299, 59],
  ])("fills a terminal of %i columns and %i rows", (columns, rows) => {
    const lines = text({}, columns, rows);
    expect(lines).toHaveLength(rows);
    expect(Array.from(lineOf(lines, "power"))).toHaveLength(columns);
    expect(Array.from(lineOf(lines, "wall"))).toHaveLength(columns);
  });

  it.each([1, 5, 20, 40, 79, 200])("is never wider than %i columns, whatever the height", (columns) => {
    for (const rows of [1, 2, 5, 11, 23, 60]) {
      const lines = text({}, columns, rows);
      expect(lines.length).toBeLessThanOrEqual(rows);
      expect(lines.length).toBeGreaterThan(0);
      for (const line of lines) expect(Array.from(line).length).toBeLessThanOrEqual(columns);
    }
  });

  it("leaves out decisions before anything else in a low terminal, and the time last", () => {
    const low = text({}, 100, 12).join("\n");
    expect(low).not.toContain("last decisions");
    expect(low).toContain("rack-1");
    expect(low).toContain("saved");
    expect(text({}, 100, 1)).toEqual(["joulie demo  18:21:51 at 60 times the speed  0:21 of 1:00"]);
  });

  it("X-162 says that it is slower than wanted", () => {
    expect(text({ speed: { reached: 8.13, wanted: 60 } })[0]).toContain("at 8.1x of 60x");
  });

  it("uses colours on request without changing the width", () => {
    const size = { columns: 60, rows: 30 };
    const coloured = renderFrame(frame, size, new Ansis(1));
    expect(coloured.join("")).toContain("\x1b[");
    expect(coloured.map((line) => plain.strip(line))).toEqual(text({}, 60));
    expect(text({}, 60).join("")).not.toContain("\x1b");
  });

  it("shows unknown values, real time and the demo's messages", () => {
    const shown = text({
      pue: undefined,
      speed: { reached: 0.999, wanted: 1 },
      duration: undefined,
      notice: "going on at 30",
    }).join("\n");
    expect(shown).toContain("18:21:51 in real time  0:21, Ctrl-C ends it");
    expect(shown).toContain("10.0 kWh at the wall\n");
    expect(shown).toContain("going on at 30");
    expect(lineOf(text({ energy: undefined }), "energy")).toBe("energy   not counted yet; PUE 1.22");
    expect(lineOf(text({ energy: undefined }), "saved")).toBe("saved    -");
  });

  it("shows sleeps and the longest wait for a wake, and no drains, in energy mode", () => {
    const sleep = {
      asleep: 1,
      sleeps: 9,
      wakes: 4,
      failedWakes: 0,
      podsThatWaited: 2,
      longestWaitSeconds: 330,
      longestPerformanceWaitSeconds: undefined,
    };
    const shown = text({ sleep, drains: undefined }).join("\n");
    expect(shown).toContain("sleep    9 sleeps, 4 wakes; 2 pods waited for a wake, longest 5.5 min\n");
    expect(shown).not.toContain("drains");
    expect(plainLine({ ...frame, sleep, drains: undefined })).toContain(
      "| 1 performance, 3 eco, 0 asleep, 0 between | sleeps 9, wakes 4 | pods 128",
    );
  });

  it("lists states beside the usual three only while a node is in them", () => {
    const racks = [{ rack: "r", nodes: [node("a", "asleep"), node("b", "waking"), node("c", "unknown")] }];
    expect(text({ racks }).join("\n")).toContain(
      "P 0 performance   e 0 eco   d 0 draining   z 1 asleep   w 1 waking   ? 1 unknown",
    );
    expect(text().join("\n")).not.toContain("asleep");
  });

  it("lists its keys when keys can be read, also in 80 columns", () => {
    const size = { columns: 79, rows: 23 };
    expect(renderFrame(frame, size, plain, true)[0]).toMatch(/ 0:21 of 1:00, q quits, \? explains$/);
    const slowed = { ...frame, speed: { reached: 8.13, wanted: 60 } };
    expect(renderFrame(slowed, size, plain, true)[0]).toMatch(/at 8.1x of 60x  0:21 of 1:00, q quits, \? explains$/);
    const endless = { ...frame, duration: undefined };
    expect(renderFrame(endless, size, plain, true)[0]).toMatch(/ 0:21, q quits, \? explains$/);
  });
});

describe("renderExplanation", () => {
  it("explains every label and every state on a terminal of 80 by 24", () => {
    const lines = renderExplanation({ columns: 79, rows: 23 }, plain);
    expect(lines.filter((line) => line.includes("…"))).toEqual([]);
    const labels = text().flatMap((line) => /^([a-z]+( decisions)?)( |$)/.exec(line)?.[1] ?? []);
    expect(labels).toEqual(
      expect.arrayContaining(["power", "wall", "nodes", "drains", "pods", "energy", "saved", "last decisions"]),
    );
    for (const name of labels) expect(lines.some((line) => line.startsWith(name))).toBe(true);
    for (const mark of ["P performance", "e eco", "d draining", "z asleep", "s shuts", "w boots", "! did", "? unknown"])
      expect(lines.join("\n")).toContain(mark);
    for (const line of renderExplanation({ columns: 20, rows: 5 }, plain))
      expect(Array.from(line).length).toBeLessThanOrEqual(20);
  });

  it("X-166 fits a terminal of 80 by 24 with all addresses", () => {
    const at = (port: number) => `http://127.0.0.1:${port}`;
    const addresses = {
      plan: at(1),
      decisions: at(1),
      scoring: at(1),
      agent: at(1),
      simulator: at(1),
      dashboard: at(1),
      metrics: [1, 2, 3, 4].map(at),
    };
    const plane = { server: at(1), kubeconfig: "/tmp/kubeconfig" } as DemoCluster;
    const pages = pagesOf(plane, addresses, "/tmp/programs.log");
    const lines = renderExplanation({ columns: 79, rows: 23 }, plain, pages);
    expect(lines.at(-1)).toContain("/tmp/programs.log");
    expect(lines.slice(0, -pages.length).filter((line) => line.includes("…"))).toEqual([]);
  });

  it("lists the addresses of the programs where there is room for them", () => {
    const pages = [["dashboard", "http://127.0.0.1:8089"]] as const;
    expect(renderExplanation({ columns: 79, rows: 40 }, plain, pages).at(-1)).toBe(
      "dashboard        http://127.0.0.1:8089",
    );
    expect(renderExplanation({ columns: 79, rows: 10 }, plain, pages)).toHaveLength(10);
  });
});

describe("plainLine", () => {
  it("prints one line for a pipe", () => {
    expect(plainLine(frame)).toBe(
      "18:21:51 at 60 times the speed | 40.0 kW of 60.0 kW | 1 performance, 3 eco, 1 draining | drains 6 deferred, 3 completed | pods 128 running, 6 waiting, 82 finished | 10.0 kWh, 3.3 kWh saved",
    );
  });

  it("prints a tiny loss as 0.0", () => {
    const nothing = { estimate: -0.01, low: -0.01, high: 0 };
    const energy = { usedKwh: 0.01, notUsedKwh: nothing, notUsedPct: null };
    expect(plainLine({ ...frame, energy })).toContain("| 0.0 kWh, 0.0 kWh saved");
    expect(plainLine({ ...frame, energy: undefined })).toContain("| no energy counted yet");
  });
});
