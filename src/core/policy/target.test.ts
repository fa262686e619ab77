import { describe, expect, it } from "vitest";
import type { NodePowerProfile, NodePowerProfileSpec, Profile } from "../api/index.ts";
import { instant, percent, watts } from "../units/index.ts";
import { type ProfileLimits, profileCaps } from "./cap-limits.ts";
import type { CapHardware } from "./caps.ts";
import { pinFrom, targetOf } from "./target.ts";
import { type NodeState, publishedStateOf } from "./transitions.ts";

const cpu = (share: number) => ({ packagePowerCapPctOfMax: percent(share) });
const gpu = (share: number) => ({ powerCap: { scope: "perGpu" as const, capPctOfMax: percent(share) } });
const limits: ProfileLimits = {
  performance: [{ name: "profile", caps: { cpu: cpu(100), gpu: gpu(100) } }],
  eco: [{ name: "profile", caps: { cpu: cpu(60), gpu: gpu(60) } }],
};
const hardware: CapHardware = {
  cpu: { match: "exact", maxWattsPerSocket: watts(400), from: {} },
  gpu: { count: 8, model: "H100", key: "h100", match: "exact", maxWatts: watts(700), minWatts: watts(200), from: {} },
};
const pin = (profile: Profile, more: Partial<NodePowerProfileSpec> = {}): NodePowerProfileSpec => ({
  nodeName: "n",
  profile,
  ...more,
});
const target = (state: NodeState, whose: Profile, asked?: NodePowerProfileSpec) =>
  targetOf(
    publishedStateOf({ state, caps: whose }),
    asked,
    profileCaps(limits, asked, hardware)[whose],
    "queue_aware_v1",
  );

describe("target", () => {
  it("carries profile, caps, draining and the policy that decided", () => {
    expect(target("ActivePerformance", "performance")).toEqual({
      profile: "performance",
      cpu: cpu(100),
      gpu: gpu(100),
      caps: { profile: "performance", cpu: "profile", gpu: "profile" },
      policy: { name: "queue_aware_v1" },
      scheduling: { draining: false },
    });
    expect(target("DrainingPerformance", "performance")).toEqual({
      profile: "eco",
      cpu: cpu(100),
      gpu: gpu(100),
      caps: { profile: "performance", cpu: "profile", gpu: "profile" },
      policy: { name: "queue_aware_v1" },
      scheduling: { draining: true },
    });
    expect(target("ActiveEco", "eco")).toMatchObject({ profile: "eco", cpu: cpu(60), gpu: gpu(60) });
  });

  it("copies the caps of a pin once the guard allows the caps of its profile, and reports the pin", () => {
    const asked = pin("eco", { cpu: cpu(80), policy: { name: "mine" }, scheduling: { draining: true } });
    expect(target("ActiveEco", "eco", asked)).toEqual({
      profile: "eco",
      cpu: cpu(80),
      caps: { profile: "eco", cpu: "pin" },
      policy: { name: "pinned" },
      scheduling: { draining: false },
    });
    expect(target("ActivePerformance", "performance", pin("performance", { gpu: gpu(70) }))).toEqual({
      profile: "performance",
      gpu: gpu(70),
      caps: { profile: "performance", gpu: "pin" },
      policy: { name: "pinned" },
      scheduling: { draining: false },
    });
  });

  it("keeps the caps of the other profile until the node reaches the pinned profile", () => {
    const asked = pin("eco", { cpu: cpu(80) });
    expect(target("DrainingPerformance", "performance", asked)).toMatchObject({ cpu: cpu(100), gpu: gpu(100) });
    expect(target("ActiveEco", "performance", asked)).toMatchObject({ cpu: cpu(100), policy: { name: "pinned" } });
    expect(target("DrainingPerformance", "eco", asked)).toMatchObject({ cpu: cpu(80), scheduling: { draining: true } });
  });

  it("uses the caps of the profile for a pin without caps", () => {
    for (const asked of [pin("eco"), pin("eco", { gpu: {} })]) {
      expect(target("ActiveEco", "eco", asked)).toMatchObject({
        cpu: cpu(60),
        gpu: gpu(60),
        policy: { name: "pinned" },
      });
    }
  });
});

describe("a pin", () => {
  const profile = (labels?: Record<string, string>): NodePowerProfile => ({
    metadata: { name: "n", ...(labels && { labels }) },
    spec: pin("eco"),
  });

  it("is a NodePowerProfile of a user, never the operator's mirror", () => {
    expect(pinFrom(undefined, instant(0))).toBeUndefined();
    expect(pinFrom(profile(), instant(0))).toEqual(pin("eco"));
    expect(pinFrom(profile({ "joulie.io/managed-by": "flux" }), instant(0))).toEqual(pin("eco"));
    expect(pinFrom(profile({ "app.kubernetes.io/managed-by": "operator" }), instant(0))).toEqual(pin("eco"));
    expect(pinFrom(profile({ "joulie.io/managed-by": "operator" }), instant(0))).toBeUndefined();
  });

  it("CLI-05 ends at the time of joulie.io/pin-until; an unreadable time does not end it", () => {
    const until = (text: string): NodePowerProfile => ({
      metadata: { name: "n", annotations: { "joulie.io/pin-until": text } },
      spec: pin("eco"),
    });
    const end = Date.UTC(2030, 0, 1);
    expect(pinFrom(until("2030-01-01T00:00:00Z"), instant(end - 1))).toEqual(pin("eco"));
    expect(pinFrom(until("2030-01-01T00:00:00Z"), instant(end))).toBeUndefined();
    expect(pinFrom(until("tomorrow"), instant(end))).toEqual(pin("eco"));
  });
});
