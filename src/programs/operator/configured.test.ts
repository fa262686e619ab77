// Requirements whose formula is proved elsewhere: here that the setting reaches the cluster, through config, loop and writes.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { OperatorTestHarness, performancePod } from "./testing/test-harness.ts";

const SOON = 10;
const epyc = { "joulie.io/hw.cpu-model": "AMD-EPYC-9654", "joulie.io/hw.cpu-sockets": "2" };
const h100 = { "joulie.io/hw.gpu-model": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" };

describe("configuration reaches the cluster", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
  });
  afterEach(async () => harness.end());

  const createNodes = async (count: number, labels: Readonly<Record<string, string>> = {}) => {
    const names = Array.from({ length: count }, (_, index) => `n${index}`);
    for (const name of names) await harness.createNode(name, labels);
    return names;
  };
  /** How many nodes are performance, of those that have a target. */
  const performing = async (names: readonly string[]) => {
    const twins = await Promise.all(names.map(async (name) => harness.findTwin(name)));
    return twins.filter((twin) => twin?.spec.profile === "performance").length;
  };

  it.each([
    ["joulie.io/managed=true", ["managed"]],
    ["pool=green", ["green"]],
    ["pool in (green,blue),!joulie.io/managed", ["blue", "green"]],
  ])("OPR-02 NODE_SELECTOR=%s: only these nodes get a target and count", async (selector, selected) => {
    await harness.createNode("managed");
    await harness.createNode("green", { pool: "green", "joulie.io/managed": "false" });
    await harness.createNode("blue", { pool: "blue", "joulie.io/managed": "false" });
    for (const name of ["green", "blue"]) await harness.label(name, { "joulie.io/managed": null });
    const operator = harness.start({ NODE_SELECTOR: selector, STATIC_HP_FRAC: "1" });
    await harness.advance(SOON);
    const names = ["blue", "green", "managed"];
    const twins = await Promise.all(names.map(async (name) => harness.findTwin(name)));
    expect(twins.flatMap((twin) => twin?.metadata.name ?? [])).toEqual(selected);
    const plan = JSON.parse((await operator.page("/debug/plan")).text) as { performanceNodesAskedFor: number };
    expect(plan.performanceNodesAskedFor).toBe(selected.length);
    for (const name of names) {
      const label = (await harness.labelsOf(name))["joulie.io/power-profile"];
      expect(label).toBe(selected.includes(name) ? "performance" : undefined);
    }
  });

  it("CLI-05 a pin with joulie.io/pin-until holds until then, and the operator plans the node again afterwards", async () => {
    await harness.createNode("n");
    await harness.user.create(resources.nodePowerProfiles, {
      metadata: { name: "n", annotations: { "joulie.io/pin-until": "2030-01-01T00:02:00Z" } },
      spec: { nodeName: "n", profile: "eco", cpu: { packagePowerCapPctOfMax: 42 } },
    });
    harness.start({ STATIC_HP_FRAC: "1", RECONCILE_INTERVAL: "20s" });
    await harness.advance(100);
    const pinned = await harness.twin("n");
    expect(pinned.spec).toMatchObject({
      profile: "eco",
      cpu: { packagePowerCapPctOfMax: 42 },
      policy: { name: "pinned" },
    });
    await harness.advance(60);
    const planned = await harness.twin("n");
    expect(planned.spec).toMatchObject({ profile: "performance", policy: { name: "static_partition" } });
    expect(planned.spec.cpu?.packagePowerCapPctOfMax).not.toBe(42);
    // The operator never deletes what a user wrote.
    expect(await harness.find(resources.nodePowerProfiles, "n")).toBeDefined();
  });

  it("OPR-09 resolves declared, discovered and aliased models to the same catalogue entries", async () => {
    const cores = { "joulie.io/hw.cpu-cores": "192" };
    await harness.createNode("declared", { ...epyc, ...h100, ...cores });
    await harness.createNode("lower", {
      ...epyc,
      ...h100,
      ...cores,
      "joulie.io/hw.cpu-model": "amd-epyc-9654",
      "joulie.io/hw.gpu-model": "nvidia-h100-80gb-hbm3",
    });
    await harness.createNode("discovered");
    await harness.discovered("discovered", {
      cpu: { rawModel: "AMD EPYC 9654 96-Core Processor", sockets: 2, totalCores: 192 },
      gpu: { present: true, rawModel: "NVIDIA H100 80GB HBM3", count: 8 },
    });
    await harness.createNode("unknown", { ...epyc, ...cores, "joulie.io/hw.cpu-model": "Nobody-Knows-1" });
    harness.start();
    await harness.advance(SOON);
    const figures = async (name: string) => {
      const { hardwareDensityScore: density, powerMeasurement: power } = (await harness.twin(name)).status ?? {};
      return { density, cpu: power?.cpuTdpW, gpu: power?.gpuTdpW };
    };
    // 2 × 400 W, which a BIOS can configure, and 8 × 700 W, as their makers say.
    const declared = await figures("declared");
    expect(declared).toMatchObject({ cpu: 800, gpu: 5600 });
    expect(await figures("lower")).toEqual(declared);
    expect(await figures("discovered")).toEqual(declared);
    expect((await figures("unknown")).cpu).not.toBe(720);
  });

  describe("caps of a performance and an eco node", () => {
    const capsOf = async (variables: Readonly<Record<string, string>>) => {
      await createNodes(2, { ...epyc, ...h100 });
      harness.start({ STATIC_HP_FRAC: "0.5", ...variables });
      await harness.advance(SOON);
      const [performance, eco] = [(await harness.twin("n0")).spec, (await harness.twin("n1")).spec];
      expect([performance.profile, eco.profile]).toEqual(["performance", "eco"]);
      return { cpu: [performance.cpu, eco.cpu], gpu: [performance.gpu?.powerCap, eco.gpu?.powerCap] };
    };

    it("OPR-30 OPR-32 are percentages only, each from its own variable", async () => {
      const { cpu, gpu } = await capsOf({
        CPU_PERFORMANCE_CAP_PCT_OF_MAX: "91",
        CPU_ECO_CAP_PCT_OF_MAX: "52",
        GPU_PERFORMANCE_CAP_PCT_OF_MAX: "93",
        GPU_ECO_CAP_PCT_OF_MAX: "54",
        PERFORMANCE_CAP_WATTS: "301",
        ECO_CAP_WATTS: "131",
      });
      expect(cpu).toEqual([{ packagePowerCapPctOfMax: 91 }, { packagePowerCapPctOfMax: 52 }]);
      expect(gpu).toEqual([
        { scope: "perGpu", capPctOfMax: 93 },
        { scope: "perGpu", capPctOfMax: 54 },
      ]);
    });

    it("OPR-31 are watts per package with CPU_WRITE_ABSOLUTE_CAPS, each from its own variable", async () => {
      const { cpu } = await capsOf({
        CPU_WRITE_ABSOLUTE_CAPS: "true",
        PERFORMANCE_CAP_WATTS: "301",
        ECO_CAP_WATTS: "131",
      });
      expect(cpu).toEqual([{ packagePowerCapWatts: 301 }, { packagePowerCapWatts: 131 }]);
    });
  });

  it.each([
    [10, "0.5", 5],
    [4, "0.6", 2],
    [4, "0.9", 4],
    [5, "0", 0],
  ])("POL-08 static_partition of %d nodes with STATIC_HP_FRAC=%s: %d perform", async (count, share, expected) => {
    const names = await createNodes(count);
    harness.start({ POLICY_TYPE: "static_partition", STATIC_HP_FRAC: share });
    await harness.advance(SOON);
    expect(await performing(names)).toBe(expected);
  });

  describe("queue_aware_v1 on ten nodes", () => {
    const performingWith = async (pods: number, variables: Readonly<Record<string, string>>) => {
      const names = await createNodes(10);
      for (let pod = 0; pod < pods; pod++) await harness.createPod(`p${pod}`, undefined, performancePod);
      harness.start({ POLICY_TYPE: "queue_aware_v1", QUEUE_HP_MIN: "0", ...variables });
      await harness.advance(SOON);
      return performing(names);
    };

    it.each([
      ["0.2", 2],
      ["0.75", 8],
      ["0", 0],
    ])("POL-12 the base is the share QUEUE_HP_BASE_FRAC=%s: %d perform without a queue", async (base, expected) => {
      expect(await performingWith(0, { QUEUE_HP_BASE_FRAC: base })).toBe(expected);
    });

    it.each([
      ["QUEUE_HP_MAX", "4", 65, 4],
      ["QUEUE_HP_MAX", "1000000", 65, 7],
      ["QUEUE_HP_MIN", "3", 0, 3],
      ["QUEUE_HP_MIN", "0", 0, 0],
    ])("POL-15 %s=%s bounds what %d pods need to %d", async (bound, value, pods, expected) => {
      expect(await performingWith(pods, { QUEUE_HP_BASE_FRAC: "0", [bound]: value })).toBe(expected);
    });
  });
});
