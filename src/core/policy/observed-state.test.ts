import { describe, expect, it } from "vitest";
import type { Node, NodeTwin, NodeTwinSpec, SchedulableClass } from "../api/index.ts";
import { percent, watts } from "../units/index.ts";
import type { CapIntents } from "./caps.ts";
import { hasConfirmedCaps, isTwinOf, type ObservationSettings, observedStateOf } from "./observed-state.ts";

const label = "joulie.io/power-profile";
const node = (labels?: Record<string, string>): Node => ({ metadata: { name: "n", ...(labels && { labels }) } });
const cpu = (share: number): CapIntents => ({ cpu: { packagePowerCapPctOfMax: percent(share) } });
const cpuWatts = (power: number): CapIntents => ({ cpu: { packagePowerCapWatts: watts(power) } });
const gpu = (share: number, power?: number): CapIntents => ({
  gpu: { powerCap: { capPctOfMax: percent(share), ...(power !== undefined && { capWattsPerGpu: watts(power) }) } },
});
type ProfileCaps = ObservationSettings["caps"];
const percentCaps: ProfileCaps = { performance: cpu(100), eco: cpu(60) };

const seen = (spec: Partial<NodeTwinSpec>, caps: ProfileCaps = percentCaps, schedulableClass?: SchedulableClass) =>
  observedStateOf(
    node(),
    { spec: { nodeName: "n", profile: "eco", ...spec }, status: { ...(schedulableClass && { schedulableClass }) } },
    { caps, powerProfileLabel: label },
  );

describe("observed state", () => {
  it.each([
    ["its own Node", [["Node", "u"]], true],
    ["the Node of that name before it", [["Node", "old"]], false],
    [
      "both",
      [
        ["Node", "old"],
        ["Node", "u"],
      ],
      true,
    ],
    ["no owner", [], true],
    ["something that is no Node", [["ConfigMap", "c"]], true],
  ] as const)("OPR-20 a twin that belongs to %s", (_, owners, expected) => {
    const ownerReferences = owners.map(([kind, uid]) => ({ apiVersion: "v1", kind, name: "n", uid }));
    const own = { metadata: { name: "n", uid: "u" } };
    expect(isTwinOf(own, { metadata: { name: "n", ownerReferences } })).toBe(expected);
    expect(isTwinOf(own, { metadata: { name: "n" } })).toBe(true);
  });

  it("OPR-20 a node without a NodeTwin starts in ActivePerformance", () => {
    expect(observedStateOf(node(), undefined, { caps: percentCaps, powerProfileLabel: label })).toEqual({
      state: "ActivePerformance",
      caps: "performance",
      showsEco: false,
    });
  });

  it("OPR-20 is derived from profile and draining of the spec", () => {
    expect(seen({ profile: "performance" }).state).toBe("ActivePerformance");
    expect(seen({ profile: "performance", scheduling: { draining: true } }).state).toBe("ActivePerformance");
    expect(seen({ scheduling: { draining: true } }).state).toBe("DrainingPerformance");
    expect(seen({ scheduling: { draining: false } }).state).toBe("ActiveEco");
    expect(seen({ scheduling: {} }).state).toBe("ActiveEco");
    expect(seen({}).state).toBe("ActiveEco");
  });

  it("is eco only if both the class and the configured label are eco", () => {
    const shows = (schedulableClass: SchedulableClass | undefined, labels?: Record<string, string>) =>
      observedStateOf(
        node(labels),
        { spec: { nodeName: "n", profile: "eco" }, status: { ...(schedulableClass && { schedulableClass }) } },
        { caps: percentCaps, powerProfileLabel: "example.com/power" },
      ).showsEco;
    const eco = { "example.com/power": "eco" };
    expect(shows("eco", eco)).toBe(true);
    for (const other of ["performance", "draining", "unknown", undefined] as const) {
      expect(shows(other, eco)).toBe(false);
    }
    expect(shows("eco", { "example.com/power": "performance" })).toBe(false);
    expect(shows("eco", { [label]: "eco" })).toBe(false);
    expect(shows("eco")).toBe(false);
    const untold = observedStateOf(
      node(eco),
      { spec: { nodeName: "n", profile: "eco" } },
      {
        caps: percentCaps,
        powerProfileLabel: "example.com/power",
      },
    );
    expect(untold.showsEco).toBe(false);
  });
});

describe("the profile of the caps in a spec, of an older operator unless it is published", () => {
  it("is performance on a performance node, whatever the caps", () => {
    expect(seen({ profile: "performance", ...cpu(60) }).caps).toBe("performance");
  });

  it("is the profile whose caps equal those in the spec", () => {
    const absolute: ProfileCaps = { performance: cpuWatts(400), eco: cpuWatts(120) };
    const both: ProfileCaps = {
      performance: { ...cpu(100), ...gpu(100, 700) },
      eco: { ...cpu(60), ...gpu(60, 420) },
    };
    for (const caps of [percentCaps, absolute, both]) {
      for (const draining of [true, false]) {
        expect(seen({ ...caps.performance, scheduling: { draining } }, caps).caps).toBe("performance");
        expect(seen({ ...caps.eco, scheduling: { draining } }, caps).caps).toBe("eco");
      }
    }
  });

  it("is performance if both profiles have the same caps", () => {
    expect(seen(cpu(80), { performance: cpu(80), eco: cpu(80) }).caps).toBe("performance");
    expect(seen({}, { performance: {}, eco: {} }).caps).toBe("performance");
    expect(seen({ gpu: {} }, { performance: {}, eco: {} }).caps).toBe("performance");
    expect(seen({}, { performance: { gpu: {} }, eco: { gpu: {} } }).caps).toBe("performance");
  });

  it.each<[string, CapIntents, ProfileCaps]>([
    ["a lower performance percentage", cpu(100), { performance: cpu(90), eco: cpu(60) }],
    ["a performance percentage between both", cpu(80), percentCaps],
    ["absolute caps switched on", cpu(100), { performance: cpuWatts(400), eco: cpuWatts(120) }],
    ["absolute caps switched on over eco's", cpu(60), { performance: cpuWatts(400), eco: cpuWatts(120) }],
    ["absolute caps switched off", cpuWatts(400), percentCaps],
    ["absolute GPU caps switched on", gpu(100), { performance: gpu(100, 700), eco: gpu(60, 420) }],
    ["absolute GPU caps switched off", gpu(100, 700), { performance: gpu(100), eco: gpu(60) }],
    ["GPUs found meanwhile", cpu(100), { performance: { ...cpu(100), ...gpu(100) }, eco: { ...cpu(60), ...gpu(60) } }],
    [
      "GPUs found on an eco node",
      cpu(60),
      { performance: { ...cpu(100), ...gpu(100) }, eco: { ...cpu(60), ...gpu(60) } },
    ],
    ["GPUs gone", { ...cpu(100), ...gpu(100) }, percentCaps],
    ["CPU caps on GPU nodes switched off", { ...cpu(100), ...gpu(100) }, { performance: gpu(100), eco: gpu(60) }],
    [
      "CPU caps on GPU nodes switched on",
      gpu(60),
      { performance: { ...cpu(100), ...gpu(100) }, eco: { ...cpu(60), ...gpu(60) } },
    ],
    ["a GPU maximum found to be lower", gpu(60, 420), { performance: gpu(100, 350), eco: gpu(60, 210) }],
    ["no caps at all", {}, percentCaps],
    [
      "one device above eco's",
      { ...cpu(60), ...gpu(61) },
      { performance: { ...cpu(100), ...gpu(100) }, eco: { ...cpu(60), ...gpu(60) } },
    ],
    [
      "watts beside a percentage that is no more than eco's",
      { cpu: { ...cpu(60).cpu, ...cpuWatts(400).cpu } },
      percentCaps,
    ],
  ])("is performance after %s, because the current eco caps might be lower", (_, spec, caps) => {
    expect(seen({ ...spec, scheduling: { draining: true } }, caps).caps).toBe("performance");
    expect(seen(spec, caps).caps).toBe("performance");
  });

  it.each<[string, CapIntents, ProfileCaps]>([
    ["a higher eco percentage", cpu(60), { performance: cpu(100), eco: cpu(70) }],
    ["a higher eco power", cpuWatts(120), { performance: cpuWatts(400), eco: cpuWatts(150) }],
    ["a GPU maximum found to be higher", gpu(60, 210), { performance: gpu(100, 700), eco: gpu(60, 420) }],
    ["CPU caps on GPU nodes switched off", { ...cpu(60), ...gpu(60) }, { performance: gpu(100), eco: gpu(60) }],
    ["eco caps switched off", cpu(60), { performance: cpu(100), eco: {} }],
  ])("is eco after %s, because the current eco caps are not lower", (_, spec, caps) => {
    expect(seen(spec, caps).caps).toBe("eco");
  });

  it("is the published one, whatever the caps and today's settings are", () => {
    const underEco = { profile: "eco", cpu: "profile" } as const;
    expect(seen({ ...cpu(90), caps: underEco }).caps).toBe("eco");
    expect(seen({ ...cpu(60), caps: { ...underEco, profile: "performance" } }).caps).toBe("performance");
  });
});

const caps = { cpu: { packagePowerCapPctOfMax: percent(100) } };
const eco = { cpu: { packagePowerCapPctOfMax: percent(60) } };

const twin = (
  status: NonNullable<NodeTwin["status"]>,
  spec: Partial<NodeTwin["spec"]> = { profile: "performance", ...caps },
): NodeTwin => ({
  metadata: { name: "a", generation: 7 },
  spec: { nodeName: "a", profile: "performance", ...spec },
  status: { schedulableClass: "eco", ...status },
});
const receipt = (observedGeneration: number, cpu: "applied" | "blocked" | "error" | "none" = "applied") => ({
  controlStatus: { observedGeneration, cpu: { result: cpu } },
});

describe("hasConfirmedCaps", () => {
  it.each([
    ["no twin", undefined, true],
    ["no agent has ever reported", twin({}), true],
    ["an agent without receipts", twin({ controlStatus: { cpu: { result: "applied" } } }), true],
    ["published as performance already", twin({ schedulableClass: "performance", ...receipt(3) }), true],
    ["a receipt of this target", twin(receipt(7)), true],
    ["a receipt of a node that has nothing to cap", twin(receipt(7, "none")), true],
    ["a receipt of an earlier target", twin(receipt(6)), false],
    ["a failed write", twin(receipt(7, "error")), false],
    ["a refused write", twin(receipt(7, "blocked")), false],
    ["a receipt of the eco target", twin(receipt(7), { profile: "eco", ...eco }), false],
    ["a receipt of other performance caps", twin(receipt(7), { profile: "performance", ...eco }), false],
    ["a node that comes back from sleep", twin({ schedulableClass: "asleep", ...receipt(6) }), false],
  ])("X-120 %s", (_, published, confirmed) => {
    expect(hasConfirmedCaps(published, caps)).toBe(confirmed);
  });
});
