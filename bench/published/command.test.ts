import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { VirtualClock } from "../../src/platform/clock/testing/index.ts";
import { parseConfig, type RawValues } from "../../src/platform/config/index.ts";
import { replayCommand, replayConfig } from "./command.ts";
import { dropExperiment } from "./experiment.ts";

const folder = mkdtempSync(join(tmpdir(), "joulie-replay-"));
afterAll(() => rmSync(folder, { recursive: true }));

const HEADER = "submitSec,cores,gpus,performance,cpuUtil,gpuUtil,durationSec";
const file = (name: string, lines: readonly string[]): string => {
  const path = join(folder, name);
  writeFileSync(path, gzipSync([HEADER, ...lines, ""].join("\n")));
  return path;
};

const read = (flags: RawValues) =>
  parseConfig(replayConfig, { env: {}, flags, machine: { isTerminal: false, exists: () => false } });

async function run(flags: RawValues) {
  const parsed = read(flags);
  if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("\n"));
  const texts = { out: "", err: "" };
  const code = await replayCommand(parsed.value.values, {
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

describe("npm run replay", () => {
  it("replays a file and reports dropped jobs and power, compared with a manual calculation", async () => {
    // Four CPU nodes and one GPU node: the second job finds no free GPU.
    const TRACE = file("two.csv.gz", ["0,64,8,1,0.5,1,600", "30,1,1,0,0.5,1,600", "60,96,0,0,1,0,60"]);
    const report = await json({ TRACE, ARM: "most", NODES: "5", HOURS: "0.05" });
    expect(report).toMatchObject({
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
    const report = await json({ COMPARE: "most,shipped", SEEDS: "8", HOURS: "2" });
    expect(report).toMatchObject({ nodes: 2500, baseline: "most", seeds: [1, 2, 3, 4, 5, 6, 7, 8] });
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
    const guide = readFileSync(join(import.meta.dirname, "../../docs/guides/experiments.md"), "utf8");
    expect(guide).toContain("npm run replay -- --compare most,least,shipped --seeds 8\n");
  });

  it("prints identical output for the same seed except wall time, and different output for another", async () => {
    const flags = { ARM: "random", NODES: "20", HOURS: "1" };
    const first = await run(flags);
    expect(await run(flags)).toEqual(first);
    expect((await run({ ...flags, SEED: "2" })).out).not.toBe(first.out);
    expect(first.out).toContain("cluster exp04, nodes 20, hours 1");
  });

  it("reports in text and JSON that runs did different work, and compares no energy", async () => {
    const flags = { COMPARE: "most,least,shipped", NODES: "20", HOURS: "1", SEEDS: "3", LOAD: "3" };
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
    const flags = { COMPARE: "most,least", NODES: "20", HOURS: "1", SEEDS: "4", LOAD: "0.1" };
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

  it("includes the last job of a trace if it arrives on the minute, and reports how many came too late", async () => {
    const on = file("on.csv.gz", ["0,1,0,0,0.5,0,60", "120,1,0,0,0.5,0,60"]);
    expect(await json({ TRACE: on, NODES: "5" })).toMatchObject({ accepted: 2, notSubmitted: 0 });
    const after = file("after.csv.gz", ["0,1,0,0,0.5,0,60", "121,1,0,0,0.5,0,60", "130,1,0,0,0.5,0,60"]);
    const flags = { TRACE: after, NODES: "5" };
    expect(await json(flags)).toMatchObject({ accepted: 1, dropped: 0, notSubmitted: 2, hours: 0.05 });
    const { out } = await run(flags);
    expect(out).toMatch(/^arm +seed +dropped +taken +too late/m);
    expect(out).toContain("too late: jobs that arrived after the last step began");
    expect(await json({ ...flags, HOURS: "0.1" })).toMatchObject({ accepted: 3, notSubmitted: 0 });
  });

  it.each<[RawValues, string]>([
    [{ ARM: "joulie" }, '--arm="joulie"'],
    [{ COMPARE: "most,joulie" }, "is not a list of two or more arms"],
    [{ COMPARE: "most" }, "is not a list of two or more arms"],
    [{ SEEDS: "5", TRACE: "x.csv" }, "whose jobs are the same for every seed"],
  ])("rejects %j", (flags, problem) => {
    expect(problemsOf(flags).join()).toContain(problem);
  });
});
