import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { OperatorTestHarness } from "./testing/test-harness.ts";

const TICK = 60;
const SOON = 10;
const gpus = { "joulie.io/hw.gpu-model": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" };
const rack = (name: string) => ({ "joulie.io/rack": name });

describe("the published NodeTwin status", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
  });
  afterEach(async () => harness.end());

  const statusOf = async (name: string) => (await harness.twin(name)).status;
  const measured = async (name: string) => (await statusOf(name))?.powerMeasurement;
  const reported = async (name: string, watts: Readonly<Record<string, number>>) => {
    const updatedAt = new Date(harness.clock.now()).toISOString();
    const devices = Object.entries(watts).map(([device, observedPowerWatts]) => [
      device,
      { backend: "rapl", result: "applied", observedPowerWatts, updatedAt },
    ]);
    const status = { controlStatus: Object.fromEntries(devices) as unknown };
    await harness.agent.apply(resources.nodeTwins, { name }, { status }, { subresource: "status" });
  };

  it("TWN-05 measuredNodePowerW is the sum of CPU and GPU power", async () => {
    await harness.createNode("g", gpus);
    harness.start();
    await harness.advance(SOON);
    await reported("g", { cpu: 310, gpu: 2450 });
    await harness.advance(TICK);
    expect(await measured("g")).toMatchObject({ source: "agent", measuredNodePowerW: 2760 });
    await reported("g", { cpu: 290, gpu: 4400 });
    await harness.advance(TICK);
    expect(await measured("g")).toMatchObject({ source: "agent", measuredNodePowerW: 4690 });
  });

  it("X-31 uses an agent's reading for five minutes, independent of the agent's interval", async () => {
    await harness.createNode("n");
    harness.start({ RECONCILE_INTERVAL: "5s" });
    await harness.advance(SOON);
    await reported("n", { cpu: 123 });
    await harness.advance(290);
    expect(await measured("n")).toMatchObject({ source: "agent", measuredNodePowerW: 123 });
    await harness.advance(20);
    expect((await measured("n"))?.source).toBe("static");
  });

  it("TWN-10 X-81 powerTrendWPerMin is positive while power rises and negative while it falls", async () => {
    await harness.createNode("n");
    harness.start();
    await harness.advance(SOON);
    const readings = async (...powers: readonly number[]) => {
      for (const power of powers) {
        await reported("n", { cpu: power });
        await harness.advance(TICK);
      }
    };
    await readings(200, 230, 260, 290, 320);
    expect((await measured("n"))?.powerTrendWPerMin).toBeCloseTo(30, 0);
    await readings(300, 270, 240, 210, 180, 150);
    expect((await measured("n"))?.powerTrendWPerMin).toBeCloseTo(-30, 0);
  });

  it("TWN-19 psuStress is the sum of measured watts, or of the caps of unmeasured nodes, relative to 50 kW", async () => {
    // A source that is named is not replaced by another: b, of which metrics.k8s.io says nothing, is unmeasured.
    harness.usage = { a: "0" };
    for (const name of ["a", "b"]) await harness.createNode(name, { "joulie.io/hw.cpu-model": "AMD-EPYC-9654" });
    harness.start({ STATIC_HP_FRAC: "1", OPERATOR_NODE_POWER_SOURCE: "utilization" });
    await harness.advance(SOON);
    const [a, b] = [await measured("a"), await measured("b")];
    expect(a?.measuredNodePowerW).toBeGreaterThan(0);
    expect(b?.measuredNodePowerW).toBeUndefined();
    const total = (a?.measuredNodePowerW ?? 0) + (b?.nodeCappedPowerW ?? 0);
    // Published with one decimal; neither node alone gives the same.
    const published = Number(((total / 50_000) * 100).toFixed(1));
    for (const name of ["a", "b"]) expect((await statusOf(name))?.predictedPsuStressScore).toBe(published);
  });

  it("TWN-19 limits psuStress to 100", async () => {
    await harness.createNode("n");
    harness.start();
    await harness.advance(SOON);
    await reported("n", { cpu: 60_000 });
    await harness.advance(TICK);
    expect((await statusOf("n"))?.predictedPsuStressScore).toBe(100);
  });

  it("TWN-21 X-34 nodes of one rack have the same psuStress, independent of other racks", async () => {
    const watts: Readonly<Record<string, number>> = { a: 5000, b: 10_000, c: 2500 };
    await harness.createNode("a", rack("r1"));
    await harness.createNode("b", rack("r1"));
    await harness.createNode("c", rack("r2"));
    harness.start();
    await harness.advance(SOON);
    for (const [name, cpu] of Object.entries(watts)) await reported(name, { cpu });
    await harness.advance(TICK);
    const stress = async (name: string) => (await statusOf(name))?.predictedPsuStressScore;
    expect([await stress("a"), await stress("b"), await stress("c")]).toEqual([30, 30, 5]);
  });

  it("TWN-28 computes the status of every managed node each minute, and of no other node", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    await harness.createNode("other", { "joulie.io/managed": "false" });
    const operator = harness.start({ STATIC_HP_FRAC: "1" });
    harness.usage = { a: "8", b: "8" };
    await harness.advance(SOON);
    const power = async () => [(await measured("a"))?.measuredNodePowerW, (await measured("b"))?.measuredNodePowerW];
    let before = await power();
    // metrics.k8s.io has no watch, so only a tick notices a change.
    for (const cpus of ["16", "32", "48"]) {
      harness.usage = { a: cpus, b: cpus };
      operator.written();
      await harness.advance(TICK);
      const paths = operator.written().map(({ path }) => path);
      for (const name of ["a", "b"]) expect(paths.filter((path) => path.endsWith(`/${name}/status`))).toHaveLength(1);
      const now = await power();
      for (const [index, watts] of now.entries()) expect(watts).toBeGreaterThan(before[index] ?? Number.NaN);
      before = now;
    }
    expect(await harness.findTwin("other")).toBeUndefined();
  });
});
