import { Ansis } from "ansis";
import { describe, expect, it } from "vitest";
import { instant, joules, milliseconds, watts } from "../../core/units/index.ts";
import { plainLine, renderExplanation, renderFrame } from "./view.ts";
import type { ViewData } from "./view-data.ts";

const plain = new Ansis(0);
const frame: ViewData = {
  time: instant(Date.UTC(2030, 0, 1, 18, 21, 51)),
  speed: 60,
  running: milliseconds(21_900),
  duration: milliseconds(60_000),
  power: { drawn: watts(40_000), capped: 60_000, uncapped: 80_000 },
  pue: 1.216,
  classes: { performance: 16, eco: 21, draining: 3, asleep: 0, unknown: 0 },
  drains: { deferred: 6, completed: 3, takenBack: 1 },
  draining: [
    { node: "sim-035", since: instant(Date.UTC(2030, 0, 1, 18, 19)), pods: 1 },
    { node: "sim-029", since: instant(Date.UTC(2030, 0, 1, 18, 20)), pods: 2 },
  ],
  pods: { waiting: 6, running: 128, performance: 29, finished: 82 },
  energy: joules(31.3e6),
  news: [
    {
      at: instant(Date.UTC(2030, 0, 1, 18, 20, 25)),
      about: "sim-029",
      text: "eco is planned; waiting for 2 performance pods to end (after the 17 performance nodes)",
      tone: "waits",
    },
  ],
  notice: undefined,
};
const text = (change: Partial<ViewData> = {}, width = 100) => renderFrame({ ...frame, ...change }, width, plain);

describe("renderFrame", () => {
  it("shows the state of the cluster line by line", () => {
    const lines = text();
    const shown = lines.join("\n");
    expect(lines[0]).toBe("joulie demo  18:21:51 simulated, at 60 times the speed  0:21 of 1:00");
    expect(shown).toContain("40.0 kW drawn of 60.0 kW under caps, 80.0 kW without");
    expect(shown).toContain("16 performance   21 eco   3 draining");
    expect(shown).toContain("6 deferred, 3 completed, 1 taken back");
    expect(shown).toContain("sim-035 (1 pod, 3 min), sim-029 (2 pods, 2 min)");
    expect(shown).toContain("128 running (29 performance), 6 waiting, 82 finished");
    expect(shown).toContain("8.7 kWh so far; PUE 1.22");
    expect(shown).toContain("  18:20:25 sim-029 eco is planned; waiting for 2 performance pods to end");
  });

  it("draws power, caps and the hardware limit on one scale", () => {
    const bar = text({}, 91)[1] ?? "";
    expect([bar.match(/█/g)?.length, bar.match(/▒/g)?.length, bar.match(/░/g)?.length]).toEqual([30, 15, 15]);
    const none = text({ power: { drawn: watts(0), capped: 0, uncapped: 0 } }, 91)[1] ?? "";
    expect(none.match(/░/g)?.length).toBe(60);
    const over = text({ power: { drawn: watts(90), capped: 60, uncapped: 80 } }, 91)[1] ?? "";
    expect(over.match(/█/g)?.length).toBe(60);
  });

  it.each([1, 5, 20, 40, 80, 100, 200])("fits a terminal of %i columns with a constant height", (width) => {
    const lines = text({}, width);
    expect(lines).toHaveLength(text().length);
    for (const line of lines) expect(Array.from(line).length).toBeLessThanOrEqual(width);
  });

  it("uses colours on request without changing the width", () => {
    const coloured = renderFrame(frame, 60, new Ansis(1));
    expect(coloured.join("")).toContain("\x1b[");
    expect(coloured.map((line) => plain.strip(line))).toEqual(text({}, 60));
    expect(text({}, 60).join("")).not.toContain("\x1b");
  });

  it("shows unknown values, real time and the demo's messages", () => {
    const shown = text({ pue: undefined, speed: 1, duration: undefined, notice: "going on at 30" }).join("\n");
    expect(shown).toContain("simulated, in real time  0:21, Ctrl-C ends it");
    expect(shown).toContain("8.7 kWh so far\n");
    expect(shown).toContain("going on at 30");
    expect(text({ classes: { ...frame.classes, asleep: 4 } }).join("\n")).toContain("4 asleep");
    expect(text({ classes: { ...frame.classes, unknown: 2 } }).join("\n")).toContain("2 unknown");
  });

  it("lists its keys when keys can be read", () => {
    expect(renderFrame(frame, 100, plain, true)[0]).toMatch(/ 0:21 of 1:00, q quits, \? explains$/);
    const endless = { ...frame, duration: undefined };
    expect(renderFrame(endless, 100, plain, true)[0]).toMatch(/ 0:21, q quits, \? explains$/);
  });

  it("explains every label on a terminal of 80 by 24", () => {
    const lines = renderExplanation(79, plain);
    expect(lines.length).toBeLessThan(24);
    expect(lines.filter((line) => line.includes("…"))).toEqual([]);
    const labels = text().flatMap((line) => /^([a-z]+( decisions)?)( |$)/.exec(line)?.[1] ?? []);
    expect(labels).toEqual(expect.arrayContaining(["power", "nodes", "drains", "pods", "energy", "last decisions"]));
    for (const name of labels) expect(lines.some((line) => line.startsWith(name))).toBe(true);
    expect(lines.at(-1)).toMatch(/^q or Ctrl-C ends/);
    for (const line of renderExplanation(20, plain)) expect(Array.from(line).length).toBeLessThanOrEqual(20);
  });

  it("prints one line for a pipe", () => {
    expect(plainLine(frame)).toBe(
      "18:21:51 at 60 times the speed | 40.0 kW of 60.0 kW | 16 performance, 21 eco, 3 draining | drains 6 deferred, 3 completed | pods 128 running, 6 waiting, 82 finished | 8.7 kWh",
    );
  });
});
