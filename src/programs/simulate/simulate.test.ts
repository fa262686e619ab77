import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { ok } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/index.ts";
import { parseConfig, type RawValues } from "../../platform/config/index.ts";
import { simulateConfig } from "./config.ts";
import { dropExperiment } from "./published/experiment.ts";
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

async function run(flags: RawValues, terminal = false) {
  const parsed = read(flags);
  if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("\n"));
  const texts = { out: "", err: "", progress: "" };
  const code = await simulate(parsed.value.values, {
    clock: new VirtualClock(),
    out: (text) => (texts.out += text),
    err: (text) => (texts.err += text),
    writeFile: async (path, text) => {
      writeFileSync(path, text);
      return ok(undefined);
    },
    progress: terminal ? { isTerminal: true, write: (text) => (texts.progress += text) } : undefined,
  });
  return { code, ...texts };
}

const json = async (flags: RawValues): Promise<Record<string, unknown>> =>
  JSON.parse((await run({ ...flags, JSON: "true" })).out) as Record<string, unknown>;

const problemsOf = (flags: RawValues): string[] => {
  const parsed = read(flags);
  return parsed.ok ? [] : parsed.error.problems.map(({ message }) => message);
};

describe("joulie simulate in drop mode", () => {
  it("replays a file and reports dropped jobs and power, compared with a manual calculation", async () => {
    // Four CPU nodes and one GPU node: the second job finds no free GPU.
    const TRACE = file("two.csv.gz", ["0,64,8,1,0.5,1,600", "30,1,1,0,0.5,1,600", "60,96,0,0,1,0,60"]);
    const report = await json({ TRACE, MODE: "drop", ARM: "most", NODES: "5", HOURS: "0.05", CLUSTER: "exp04" });
    expect(report).toMatchObject({
      mode: "drop",
      arm: "most",
      cluster: "exp04",
      nodes: 5,
      trace: "two.csv.gz",
      seed: 1,
    });
    expect(report).toMatchObject({ submitted: 3, accepted: 2, dropped: 1, seconds: 0 });
    const idle = 4 * 35;
    const gpuNode = 50 + 500 * 0.7 * 0.5 * 0.5 + 8 * 700 * 0.85;
    const steps = [idle + gpuNode, 3 * 35 + 70 + 490 + gpuNode, idle + gpuNode];
    expect(report["itKWh"]).toBeCloseTo(steps.reduce((sum, watts) => sum + watts, 0) / 60_000, 9);
    expect(report["peakKW"]).toBeCloseTo(Math.max(...steps) / 1000, 9);
    expect(report["p99RampKW"]).toBeCloseTo(0.525, 9);
    expect(report["coreHours"]).toBeCloseTo((64 * 180 + 96 * 60) / 3600, 9);
    expect(report["gpuHours"]).toBeCloseTo((8 * 180) / 3600, 9);
  });

  it("SCH-58 compares shipped with bin-packing on 2,500 nodes and 8 seeds: both published figures", {
    timeout: 120_000,
  }, async () => {
    // The guide's command with a quarter of its hours.
    const report = await json({ MODE: "drop", COMPARE: "most,shipped", SEEDS: "8", HOURS: "2" });
    expect(report).toMatchObject({ mode: "drop", nodes: 2500, baseline: "most", seeds: [1, 2, 3, 4, 5, 6, 7, 8] });
    const runs = report["runs"] as { arm: string; seed: number; itKWh: number; dropped: number; submitted: number }[];
    const of = (arm: string) => runs.filter((one) => one.arm === arm).toSorted((a, b) => a.seed - b.seed);
    const [most, shipped] = [of("most"), of("shipped")];
    expect([most.length, shipped.length]).toEqual([8, 8]);
    const sum = (list: typeof runs, key: "itKWh" | "dropped") => list.reduce((total, one) => total + one[key], 0);
    const change = (key: "itKWh" | "dropped") => (sum(shipped, key) / sum(most, key) - 1) * 100;
    // Seed 003 reports 6.4 % less IT energy and 13 % fewer dropped jobs for 48 hours.
    expect(change("itKWh")).toBeGreaterThan(-12);
    expect(change("itKWh")).toBeLessThan(-3);
    expect(change("dropped")).toBeLessThan(0);
    shipped.forEach((one, index) => {
      expect(one.itKWh).toBeLessThan(most[index]?.itKWh ?? 0);
      expect(one.submitted).toBe(most[index]?.submitted);
    });
  });

  it("SCH-58 defaults to the duration of the published table, and the guide gives the command", () => {
    expect(dropExperiment({}).conditions).toEqual({ nodes: 2500, hours: 8 });
    const guide = readFileSync(join(import.meta.dirname, "../../../docs/guides/experiments.md"), "utf8");
    expect(guide).toContain("joulie simulate --mode drop --compare most,least,shipped --seeds 8\n");
  });

  it("prints identical output for the same seed except wall time, and different output for another", async () => {
    const flags = { MODE: "drop", ARM: "random", NODES: "20", HOURS: "1" };
    const first = await run(flags);
    expect(await run(flags)).toEqual(first);
    expect((await run({ ...flags, SEED: "2" })).out).not.toBe(first.out);
    expect(first.out).toContain("mode drop, cluster exp04, nodes 20, hours 1");
  });

  it("reports in text and JSON that runs did different work, and compares no energy", async () => {
    const flags = { MODE: "drop", COMPARE: "most,least,shipped", NODES: "20", HOURS: "1", SEEDS: "3", LOAD: "3" };
    const report = await json(flags);
    expect(report).toMatchObject({ baseline: "most", seeds: [1, 2, 3], sameWork: false });
    expect(report["note"]).toContain("DIFFERENT WORK");
    expect(report["runs"]).toHaveLength(9);
    const [, least] = report["arms"] as { difference: Record<string, object> }[];
    expect(Object.keys(least?.difference ?? {})).toEqual(["kWhPerJob", "whPerCoreHour"]);
    const text = (await run(flags)).out;
    expect(text).toContain("DIFFERENT WORK");
    expect(text).toMatch(/^against most, % +kWh\/job +Wh\/core-h$/m);
  });

  it("compares energy when the same jobs were done, with an interval over pairs of seeds", async () => {
    const flags = { MODE: "drop", COMPARE: "most,least", NODES: "20", HOURS: "1", SEEDS: "4", LOAD: "0.1" };
    const report = await json(flags);
    expect(report).toMatchObject({ sameWork: true });
    const [most, least] = report["arms"] as Record<string, Record<string, Record<string, number>>>[];
    expect(most?.["difference"]).toEqual({});
    const { mean = 0, low = 0, high = 0 } = least?.["difference"]?.["itKWh"] ?? {};
    expect(mean).toBeGreaterThan(0);
    expect(low).toBeLessThan(mean);
    expect(high).toBeGreaterThan(mean);
    expect((await run(flags)).out).toMatch(/least +\+\d+\.\d\d \[/);
  });

  it("draws a progress bar on a terminal and removes it at the end", async () => {
    const { progress, err, out } = await run({ MODE: "drop", NODES: "5", HOURS: "0.1" }, true);
    expect(progress.replace("\r\x1b[K", "")).toMatch(/^[█░]{24} +\d+ % {2}\d+:\d\d left {2}shipped, seed 1/);
    expect(progress).toContain("\r\x1b[K0.0 s\n");
    expect(err).toBe("");
    expect(out).not.toContain("\x1b");
  });

  it("names the file and line that it cannot parse", async () => {
    const TRACE = file("bad.csv.gz", ["0,4,0,0,0.5,0,60", "1,?,0,0,0.5,0,60"]);
    const { code, err, out } = await run({ TRACE, MODE: "drop" });
    expect(code).toBe(1);
    expect(out).toBe("");
    expect(err).toMatch(
      /^joulie simulate: .*bad\.csv\.gz: line 3: cores is "\?"; expected cores, 0 to 100000 \(JOULIE_E_TRACE\)\n$/,
    );
  });

  it("rejects more jobs than fit into memory before it generates any", async () => {
    const { code, err } = await run({ MODE: "drop", HOURS: "10000", NODES: "100000" });
    expect(code).toBe(1);
    expect(err).toMatch(
      /^joulie simulate: about \d+ jobs are more than 10000000; ask for fewer --hours or --nodes \(JOULIE_E_TOO_MANY_JOBS\)\n$/,
    );
  });

  it("includes the last job of a trace if it arrives on the minute, and reports how many came too late", async () => {
    const on = file("on.csv.gz", ["0,1,0,0,0.5,0,60", "120,1,0,0,0.5,0,60"]);
    expect(await json({ TRACE: on, MODE: "drop", NODES: "5" })).toMatchObject({ accepted: 2, notSubmitted: 0 });
    const after = file("after.csv.gz", ["0,1,0,0,0.5,0,60", "121,1,0,0,0.5,0,60", "130,1,0,0,0.5,0,60"]);
    const flags = { TRACE: after, MODE: "drop", NODES: "5" };
    expect(await json(flags)).toMatchObject({ accepted: 1, dropped: 0, notSubmitted: 2, hours: 0.05 });
    const { out } = await run(flags);
    expect(out).toMatch(/^arm +seed +dropped +taken +too late/m);
    expect(out).toContain("too late: jobs that arrived after the last step began");
    expect(await json({ ...flags, HOURS: "0.1" })).toMatchObject({ accepted: 3, notSubmitted: 0 });
  });

  it.each(["drop", "queue"])("rejects a trace with a header and no jobs, in %s mode", async (MODE) => {
    const { code, err, out } = await run({ TRACE: file("none.csv.gz", []), MODE, NODES: "1" });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^joulie simulate: .*none\.csv\.gz: it has a header and no jobs; [^\n]*\n$/);
  });
});

describe("joulie simulate in queue mode", () => {
  const flags = { COMPARE: "least,most,joulie", NODES: "20", HOURS: "2", LOAD: "0.5", SEEDS: "3", SEED: "7" };

  it("compares arms at equal work, with intervals over pairs of seeds", async () => {
    const report = await json(flags);
    expect(report).toMatchObject({ mode: "queue", baseline: "least", seeds: [7, 8, 9], sameWork: true, load: 0.5 });
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
    expect(first.out).toContain("mode queue, cluster exp04, nodes 20, hours 2, load 0.5\n");
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
    [{ ARM: "best" }, '--arm="best" is not an arm; allowed: ARM, ARM+sleep or either with :POLICY'],
    [{ ARM: "least,most" }, "is not an arm"],
    [{ COMPARE: "least,,most" }, "contains an unknown arm, or one twice"],
    [{ COMPARE: "least,least:none" }, "contains an unknown arm, or one twice"],
    [{ ARM: "joulie", MODE: "drop" }, 'needs nodes with caps and twins, which --mode="drop" does not simulate'],
    [{ COMPARE: "most,least:static_partition", MODE: "drop" }, "needs nodes with caps and twins"],
    [{ ARM: "least", COMPARE: "most,least" }, '--arm="least" is set together with --compare="most,least"'],
    [{ COMPARE: "least" }, '--compare="least" names only one arm, so there is nothing to compare'],
    [{ SEEDS: "5", TRACE: "x.csv" }, '--seeds="5" is set together with --trace="x.csv", whose jobs are the same'],
    [{ ARM: "least", POLICY: "static_partition" }, '--policy="static_partition" is set, but no arm uses it'],
    [{ MODE: "drop", POLICY: "none" }, "is set, but no arm uses it"],
    [{ COMPARE: "least,joulie:none", POLICY: "static_partition" }, "is set, but no arm uses it"],
    [{ LOAD: "0.5", TRACE: "x.csv" }, "whose jobs are fixed"],
    [{ CLUSTER: "mixed", MODE: "drop" }, 'is not supported by --mode="drop"'],
    [{ SEEDS: "0" }, "--seeds"],
    [{ COMPARE: "least,least+sleep", MODE: "drop" }, "needs nodes with caps and twins"],
    [{ COMPARE: "least,energy", BOOT_CPU: "4m" }, '--boot-cpu="4m" is set, but nodes sleep in no arm'],
    [{ ARM: "kube", BOOT_GPU: "4m" }, "nodes sleep in no arm"],
    [{ BOOT_FAILURES: "0.5" }, "nodes sleep in no arm"],
    [{ SLEEP_AFTER: "1m" }, "nodes sleep in no arm"],
    [{ SLEEP_RESERVE_QUANTILE: "0.5" }, "nodes sleep in no arm"],
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
    { POLICY: "static_partition" },
    { COMPARE: "least,joulie", POLICY: "none" },
    { SEEDS: "1", TRACE: "x.csv" },
    { MODE: "drop", ARM: "shipped" },
  ])("accepts %j", (flags) => {
    expect(problemsOf(flags)).toEqual([]);
  });
});
