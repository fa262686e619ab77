// The DVFS_* variables, from the environment through the whole agent to the files of a host. Each is set to a value other than its
// default, so that an ignored one fails a test.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  intelPstate,
  joinTrees,
  refuseWrites,
  sapphireRapids,
  xeonCpuinfo,
} from "../../../platform/hardware/testing/index.ts";
import { AgentTestHarness, type AgentUnderTest } from "../testing/agent-test-harness.ts";
import { FixtureHost } from "../testing/fixture-host.ts";

const TICK = 20;
const FULL = 3_800_000;

let harness: AgentTestHarness;
let host: FixtureHost;
beforeEach(async () => {
  harness = new AgentTestHarness();
  await harness.createNode("a");
  host = new FixtureHost(harness.clock, joinTrees(sapphireRapids, intelPstate), xeonCpuinfo);
  harness.fixture = host;
  // 400 W for both packages.
  await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
});
afterEach(async () => {
  await harness.close();
});

/** Starts an agent and waits for this many readings of the total power. */
async function after(
  readings: number,
  power: number,
  variables: Readonly<Record<string, string>>,
): Promise<AgentUnderTest> {
  host.draw = power / 2;
  const agent = harness.start({ TELEMETRY_CPU_CONTROL_MODE: "dvfs", ...variables });
  // The first reading comes with the second tick, as soon as the watches have synced.
  await harness.advance(5 + (readings - 1) * TICK);
  return agent;
}

const metric = async (agent: AgentUnderTest, name: string): Promise<number> =>
  Number((await agent.series(`${name}{`))[0]?.split(" ")[1]);
const throttle = async (agent: AgentUnderTest): Promise<number> => metric(agent, "joulie_dvfs_throttle_pct");
const slowed = (): number => host.frequencies.filter((frequency) => frequency < FULL).length;

describe("DVFS variables", () => {
  it.each([
    [{}, 260],
    [{ DVFS_EMA_ALPHA: "0.5" }, 300],
    [{ DVFS_EMA_ALPHA: "1" }, 400],
  ])("AGT-24 200 W and then 400 W average with %j to %d W", async (variables, ema) => {
    const agent = await after(1, 200, variables);
    expect(await metric(agent, "joulie_dvfs_ema_power_watts")).toBeCloseTo(200, 3);
    host.draw = 200;
    await harness.advance(TICK);
    expect(await metric(agent, "joulie_dvfs_ema_power_watts")).toBeCloseTo(ema, 3);
  });

  it.each([
    [408, {}, 0, 0],
    [412, {}, 3, 0],
    [408, { DVFS_HIGH_MARGIN_W: "5" }, 3, 0],
    [412, { DVFS_HIGH_MARGIN_W: "20" }, 0, 0],
    [387, {}, 0, 0],
    [383, {}, 0, 3],
    [387, { DVFS_LOW_MARGIN_W: "10" }, 0, 3],
    [383, { DVFS_LOW_MARGIN_W: "30" }, 0, 0],
  ])(
    "AGT-25 AGT-39 %d W at a target of 400 W with %j counts %d above and %d below",
    async (power, margins, above, below) => {
      const agent = await after(3, power, { DVFS_TRIP_COUNT: "100", ...margins });
      expect(await metric(agent, "joulie_dvfs_above_trip_count")).toBe(above);
      expect(await metric(agent, "joulie_dvfs_below_trip_count")).toBe(below);
    },
  );

  it("AGT-29 AGT-31 throttles by DVFS_STEP_PCT after DVFS_TRIP_COUNT readings above the band", async () => {
    const agent = await after(2, 600, { DVFS_STEP_PCT: "25", DVFS_TRIP_COUNT: "3" });
    expect([await throttle(agent), slowed()]).toEqual([0, 0]);
    await harness.advance(TICK);
    expect([await throttle(agent), slowed()]).toEqual([25, 1]);
  });

  it("AGT-30 AGT-31 eases the throttle by DVFS_STEP_PCT after DVFS_TRIP_COUNT readings below the band", async () => {
    const agent = await after(4, 600, {
      DVFS_STEP_PCT: "50",
      DVFS_TRIP_COUNT: "4",
      DVFS_EMA_ALPHA: "1",
      DVFS_COOLDOWN: "1s",
    });
    expect([await throttle(agent), slowed()]).toEqual([50, 2]);
    host.draw = 50;
    await harness.advance(3 * TICK);
    expect([await throttle(agent), slowed()]).toEqual([50, 2]);
    await harness.advance(TICK);
    expect([await throttle(agent), slowed()]).toEqual([0, 0]);
  });

  it("AGT-32 waits for DVFS_COOLDOWN between two actions", async () => {
    const agent = await after(1, 600, { DVFS_TRIP_COUNT: "1", DVFS_COOLDOWN: "60s" });
    expect(await throttle(agent)).toBe(10);
    await harness.advance(2 * TICK);
    expect(await throttle(agent)).toBe(10);
    await harness.advance(TICK);
    expect(await throttle(agent)).toBe(20);
  });

  it.each([
    [{}, 1_500_000],
    [{ DVFS_MIN_FREQ_KHZ: "2100000" }, 2_100_000],
  ])("AGT-34 full throttle with %j sets %d kHz", async (variables, frequency) => {
    await after(1, 600, { DVFS_TRIP_COUNT: "1", DVFS_STEP_PCT: "100", ...variables });
    expect(host.frequencies).toEqual(Array(4).fill(frequency));
  });
});

describe("joulie_backend_mode", () => {
  const modes = async (agent: AgentUnderTest) =>
    Object.fromEntries(
      (await agent.series("joulie_backend_mode")).map((line) => [/mode="(\w+)"/.exec(line)?.[1], line.split(" ")[1]]),
    );

  it("AGT-21 shows exactly one of rapl, dvfs and none as backends come and go", async () => {
    const agent = harness.start();
    await harness.advance(25);
    expect(await modes(agent)).toEqual({ none: "0", rapl: "1", dvfs: "0" });
    const endRapl = refuseWrites(host.sys, /constraint_0_power_limit_uw$/, "EROFS");
    await harness.advance(TICK);
    expect(await modes(agent)).toEqual({ none: "0", rapl: "0", dvfs: "1" });
    refuseWrites(host.sys, /scaling_max_freq$/, "EROFS");
    await harness.advance(TICK);
    expect(await modes(agent)).toEqual({ none: "1", rapl: "0", dvfs: "0" });
    endRapl();
    await harness.advance(TICK);
    expect(await modes(agent)).toEqual({ none: "0", rapl: "1", dvfs: "0" });
  });
});
