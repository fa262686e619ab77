import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { parseConfig, type RawValues } from "../../platform/config/index.ts";
import { simulateConfig } from "./config.ts";
import { simulate } from "./simulate.ts";

const folder = mkdtempSync(join(tmpdir(), "joulie-simulate-"));
afterAll(() => rmSync(folder, { recursive: true }));

const HEADER = "submitSec,cores,gpus,performance,cpuUtil,gpuUtil,durationSec";
const file = (name: string, lines: readonly string[]): string => {
  const path = join(folder, name);
  writeFileSync(path, gzipSync([HEADER, ...lines, ""].join("\n")));
  return path;
};

const read = (flags: RawValues) =>
  parseConfig(simulateConfig, { env: {}, flags, machine: { isTerminal: false, exists: () => false } });

async function run(flags: RawValues) {
  const parsed = read(flags);
  if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("\n"));
  const texts = { out: "", err: "" };
  const code = await simulate(parsed.value.values, {
    clock: new VirtualClock(),
    out: (text) => (texts.out += text),
    err: (text) => (texts.err += text),
  });
  return { code, ...texts };
}

const json = async (flags: RawValues): Promise<Record<string, unknown>> =>
  JSON.parse((await run({ ...flags, JSON: "true" })).out) as Record<string, unknown>;

const problemsOf = (flags: RawValues): string[] => {
  const parsed = read(flags);
  return parsed.ok ? [] : parsed.error.problems.map(({ message }) => message);
};

describe("joulie simulate", () => {
  it("names the file and line that it cannot parse", async () => {
    const TRACE = file("bad.csv.gz", ["0,4,0,0,0.5,0,60", "1,?,0,0,0.5,0,60"]);
    const { code, err, out } = await run({ TRACE });
    expect(code).toBe(1);
    expect(out).toBe("");
    expect(err).toMatch(
      /^joulie simulate: .*bad\.csv\.gz: line 3: cores is "\?"; expected cores, 0 to 100000 \(JOULIE_E_TRACE\)\n$/,
    );
  });

  it("rejects more jobs than fit into memory before it generates any", async () => {
    const { code, err } = await run({ HOURS: "10000", NODES: "100000" });
    expect(code).toBe(1);
    expect(err).toMatch(
      /^joulie simulate: about \d+ jobs are more than 10000000; ask for fewer --hours or --nodes \(JOULIE_E_TOO_MANY_JOBS\)\n$/,
    );
  });

  it("rejects a trace with a header and no jobs", async () => {
    const { code, err, out } = await run({ TRACE: file("none.csv.gz", []), NODES: "1" });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^joulie simulate: .*none\.csv\.gz: it has a header and no jobs; [^\n]*\n$/);
  });
});

describe("arms of joulie simulate", () => {
  const flags = { COMPARE: "least,most,joulie", NODES: "20", HOURS: "2", LOAD: "0.5", SEEDS: "3", SEED: "7" };

  it("compares arms at equal work, with intervals over pairs of seeds", async () => {
    const report = await json(flags);
    expect(report).toMatchObject({ baseline: "least", seeds: [7, 8, 9], sameWork: true, load: 0.5 });
    const arms = report["arms"] as { arm: string; difference: Record<string, { low: number; high: number }> }[];
    expect(arms.map(({ arm }) => arm)).toEqual(["least", "most", "joulie:queue_aware_v1"]);
    for (const { difference } of arms.slice(1)) {
      expect(difference["itKWh"]?.low).toBeLessThanOrEqual(difference["itKWh"]?.high ?? Number.NaN);
      expect(difference["sameTimeKWh"]).toBeDefined();
    }
    const runs = report["runs"] as Record<string, number>[];
    expect(runs).toHaveLength(9);
    expect(runs.every(({ completed, jobs, unfinished }) => completed === jobs && unfinished === 0)).toBe(true);
  });

  it("charges runs that finish early with idle power until the last one ends", async () => {
    const runs = (await json(flags))["runs"] as Record<string, number>[];
    for (const seed of [7, 8, 9]) {
      const own = runs.filter((run) => run["seed"] === seed);
      const last = Math.max(...own.map(({ makespanHours = 0 }) => makespanHours));
      for (const { itKWh = 0, idleKW = 0, makespanHours = 0, sameTimeKWh } of own) {
        expect(sameTimeKWh).toBeCloseTo(itKWh + idleKW * (last - makespanHours), 9);
      }
    }
  });

  it("prints identical output for the same seeds, and explains its columns", async () => {
    const first = await run(flags);
    expect(await run(flags)).toEqual(first);
    expect(first.out).toContain("cluster exp04, nodes 20, hours 2, load 0.5\n");
    expect(first.out).toContain(
      "SLO miss %: performance jobs with a slowdown above 1.05: because they waited or ran slower\n",
    );
    expect(first.out).toContain("slowed %: performance jobs that ran more than 5 % longer than at full speed,");
    expect(first.out).toContain("Every arm did the same jobs on every seed.");
    expect(first.out).toContain("(seeds 7–9)");
    // A single run has no other run to compare with.
    expect(first.out).toContain("kWh, same time");
    expect((await run({ ARM: "least", NODES: "5", HOURS: "1" })).out).not.toContain("same time");
  });

  it("runs one arm of a trace for the requested hours", async () => {
    const TRACE = file("late.csv.gz", ["0,4,0,0,0.5,0,60", "7200,4,0,0,0.5,0,60"]);
    expect(await json({ TRACE, NODES: "2", CLUSTER: "mixed" })).toMatchObject({
      arm: "joulie",
      completed: 2,
      hours: 2,
    });
    expect(await json({ TRACE, NODES: "2", HOURS: "1" })).toMatchObject({ completed: 1, jobs: 1, hours: 1 });
  });
});

describe("nodes that sleep", () => {
  const flags: RawValues = { COMPARE: "least,energy+sleep", NODES: "10", HOURS: "3", LOAD: "0.3", WALL_POWER: "true" };

  it("SLP-73 every flag of sleep reaches the experiment and is printed with the result", async () => {
    const changes: readonly (readonly [RawValues, string])[] = [
      [{ BOOT_CPU: "20m" }, "bootCpuSec 1200"],
      [{ BOOT_GPU: "30m" }, "bootGpuSec 1800"],
      [{ BOOT_FAILURES: "0.9" }, "bootFailures 0.9"],
      [{ SLEEP_RESERVE_QUANTILE: "0" }, "sleepReserveQuantile 0"],
      [{ SLEEP_AFTER: "30m" }, "sleepAfterSec 1800"],
    ];
    for (const [change, condition] of changes) {
      expect((await run({ ...flags, HOURS: "1", ...change })).out).toContain(condition);
    }
  });

  it("SLP-73 reports sleep only where nodes sleep", async () => {
    const { out } = await run(flags);
    for (const title of ["asleep", "cycles", "% off", "% transitions", "wakes, pending", "wakes, reserve"])
      expect(out).toContain(title);
    expect((await run({ ...flags, COMPARE: "least,energy" })).out).not.toContain("asleep");
    const runs = (await json(flags))["runs"] as Record<string, number>[];
    const sleeping = runs.find(({ offKWh }) => offKWh !== undefined);
    expect(sleeping).toMatchObject({ arm: "energy", sleep: true });
    expect(sleeping?.["offKWh"]).toBeGreaterThan(0);
  });
});

describe("validation of joulie simulate flags", () => {
  it.each<[RawValues, string]>([
    [
      { ARM: "best" },
      '--arm="best" is not an arm; allowed: a preset (partition, energy, energy-sleep), ARM, ARM+sleep or either with :POLICY',
    ],
    [{ ARM: "least,most" }, "is not an arm"],
    [{ COMPARE: "least,,most" }, "contains an unknown arm, or one twice"],
    [{ COMPARE: "least,least:none" }, "contains an unknown arm, or one twice"],
    [{ ARM: "least", COMPARE: "most,least" }, '--arm="least" is set together with --compare="most,least"'],
    [{ COMPARE: "least" }, '--compare="least" names only one arm, so there is nothing to compare'],
    [{ SEEDS: "5", TRACE: "x.csv" }, '--seeds="5" is set together with --trace="x.csv", whose jobs are the same'],
    [{ LOAD: "0.5", TRACE: "x.csv" }, "whose jobs are fixed"],
    [{ SEEDS: "0" }, "--seeds"],
    [{ ARM: "energy+sleep", BOOT_FAILURES: "1.5" }, "--boot-failures"],
    [{ ARM: "energy+sleep", BOOT_CPU: "soon" }, "--boot-cpu"],
    [{ NODES: "0" }, "--nodes"],
  ])("rejects %j", (flags, problem) => {
    expect(problemsOf(flags)).toHaveLength(1);
    expect(problemsOf(flags)[0]).toContain(problem);
  });

  it.each<RawValues>([
    { ARM: "least:static_partition" },
    { COMPARE: "least,joulie,joulie:none" },
    { SEEDS: "1", TRACE: "x.csv" },
  ])("accepts %j", (flags) => {
    expect(problemsOf(flags)).toEqual([]);
  });
});
