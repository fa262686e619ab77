import { describe, expect, it } from "vitest";
import type { NodeTwinSpec } from "../api/index.ts";
import { percent, watts } from "../units/index.ts";
import type { CapIntents } from "./caps.ts";
import { memoryFromTwin, published } from "./published.ts";

describe("published state", () => {
  it("OPR-15 a performance node says performance everywhere", () => {
    expect(published({ state: "ActivePerformance", caps: "performance" })).toEqual({
      profile: "performance",
      draining: false,
      schedulableClass: "performance",
      caps: "performance",
    });
  });

  it("OPR-15 OPR-16 OPR-17 OPR-18 X-22 X-72 a draining node says eco at once, and draining beside it", () => {
    expect(published({ state: "DrainingPerformance", caps: "performance" })).toEqual({
      profile: "eco",
      draining: true,
      schedulableClass: "draining",
      caps: "performance",
    });
  });

  it("OPR-19 an eco node stays eco and drains no more", () => {
    expect(published({ state: "ActiveEco", caps: "eco" })).toEqual({
      profile: "eco",
      draining: false,
      schedulableClass: "eco",
      caps: "eco",
    });
  });
});

const full: CapIntents = {
  cpu: { packagePowerCapPctOfMax: percent(100) },
  gpu: { powerCap: { scope: "perGpu", capPctOfMax: percent(100), capWattsPerGpu: watts(700) } },
};
const spec = (more: Partial<NodeTwinSpec>): NodeTwinSpec => ({ nodeName: "n", profile: "eco", ...more });

describe("memory read back from a NodeTwin", () => {
  it("OPR-20 a node without a NodeTwin starts in ActivePerformance", () => {
    expect(memoryFromTwin(undefined, full)).toEqual({ state: "ActivePerformance", caps: "performance" });
  });

  it("OPR-20 profile and draining give the state", () => {
    const state = (more: Partial<NodeTwinSpec>) => memoryFromTwin(spec(more), full).state;
    expect(state({ profile: "performance" })).toBe("ActivePerformance");
    expect(state({ profile: "performance", scheduling: { draining: true } })).toBe("ActivePerformance");
    expect(state({ scheduling: { draining: true } })).toBe("DrainingPerformance");
    expect(state({ scheduling: { draining: false } })).toBe("ActiveEco");
    expect(state({ scheduling: {} })).toBe("ActiveEco");
    expect(state({})).toBe("ActiveEco");
  });

  it("OPR-20 the caps tell whether eco's are in force already", () => {
    const caps = (more: Partial<NodeTwinSpec>, intent = full) => memoryFromTwin(spec(more), intent).caps;
    expect(caps({ ...full })).toBe("performance");
    expect(caps({ ...full, scheduling: { draining: true } })).toBe("performance");
    expect(caps({ gpu: { powerCap: { capPctOfMax: percent(100), capWattsPerGpu: watts(700) } }, cpu: full.cpu })).toBe(
      "performance",
    );
    expect(caps({ ...full, cpu: { packagePowerCapPctOfMax: percent(60) } })).toBe("eco");
    expect(caps({ ...full, cpu: { packagePowerCapPctOfMax: percent(100), packagePowerCapWatts: watts(120) } })).toBe(
      "eco",
    );
    expect(caps({ ...full, gpu: { powerCap: { capPctOfMax: percent(60), capWattsPerGpu: watts(700) } } })).toBe("eco");
    expect(caps({ ...full, gpu: { powerCap: { capPctOfMax: percent(100), capWattsPerGpu: watts(420) } } })).toBe("eco");
    expect(caps({ cpu: full.cpu })).toBe("eco");
    expect(caps({})).toBe("eco");
    expect(caps({}, {})).toBe("performance");
    expect(caps({ gpu: {} }, {})).toBe("performance");
    expect(caps({}, { gpu: {} })).toBe("performance");
    expect(caps({ profile: "performance" })).toBe("performance");
  });
});
