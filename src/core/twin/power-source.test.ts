import { describe, expect, it } from "vitest";
import type { PowerSource } from "../api/index.ts";
import { instant, watts } from "../units/index.ts";
import { agentReading, choosePowerReading, type PowerReading, powerSourceModes } from "./power-source.ts";

const now = instant(Date.UTC(2026, 2, 1, 12));
const reading = (source: PowerSource, power: number): PowerReading => ({ source, power: watts(power), at: now });
const agent = reading("agent", 400);
const utilization = reading("utilization", 300);
const estimate = reading("static", 200);
const external = reading("kepler", 500);

describe("choosePower", () => {
  it("X-97 X-157 prefers the agent's reading in mode auto, then Kepler's, then utilisation, then the static estimate", () => {
    expect(choosePowerReading("auto", { agent, utilization, static: estimate, external })).toBe(agent);
    expect(choosePowerReading("auto", { utilization, static: estimate, external })).toBe(external);
    expect(choosePowerReading("auto", { utilization, static: estimate })).toBe(utilization);
    expect(choosePowerReading("auto", { static: estimate })).toBe(estimate);
    expect(choosePowerReading("auto", {})).toBeUndefined();
  });

  it.each([Number.NaN, -1, Infinity])("X-97 X-31 ignores a reading of %d W", (power) => {
    expect(choosePowerReading("auto", { agent: reading("agent", power), static: estimate })).toBe(estimate);
    expect(choosePowerReading("auto", { agent: reading("agent", 0), static: estimate })?.power).toBe(0);
  });

  it.each([
    ["static", estimate],
    ["utilization", utilization],
    ["http", external],
    ["prometheus", external],
  ] as const)("TWN-04 uses in mode %s that source", (mode, expected) => {
    expect(choosePowerReading(mode, { agent, utilization, static: estimate, external })).toBe(expected);
  });

  it.each(["utilization", "http", "prometheus"] as const)("does not replace a missing source in mode %s", (mode) => {
    expect(choosePowerReading(mode, { agent, static: estimate })).toBeUndefined();
  });

  it("supports the modes of OPERATOR_NODE_POWER_SOURCE", () => {
    expect(powerSourceModes).toEqual(["auto", "static", "utilization", "http", "prometheus"]);
  });
});

describe("agentReading", () => {
  const report = (power: number | undefined, ageMs = 0) => ({
    ...(power === undefined ? {} : { observedPowerWatts: watts(power) }),
    updatedAt: new Date(now - ageMs).toISOString(),
  });
  const read = (status: Parameters<typeof agentReading>[0], hasGpu = false) => agentReading(status, hasGpu, now);

  it("X-97 sums CPU and GPU power and takes the older of the two timestamps", () => {
    expect(read({ cpu: report(200, 5000), gpu: report(900, 9000) }, true)).toEqual({
      power: 1100,
      source: "agent",
      at: now - 9000,
    });
    expect(read({ cpu: report(200, 9000), gpu: report(900, 5000) }, true)?.at).toBe(now - 9000);
  });

  it("X-97 uses the CPU power alone on a node without GPUs", () => {
    expect(read({ cpu: report(200) })).toEqual({ power: 200, source: "agent", at: now });
    expect(read({ cpu: report(200), gpu: report(900) })?.power).toBe(200);
    expect(read({ cpu: report(0) })?.power).toBe(0);
  });

  it("X-97 is missing on a GPU node if only the CPU or only the GPU power is known", () => {
    expect(read({ cpu: report(200) }, true)).toBeUndefined();
    expect(read({ gpu: report(900) }, true)).toBeUndefined();
    expect(read({ cpu: report(200), gpu: report(undefined) }, true)).toBeUndefined();
  });

  it.each([
    [300_000, 200],
    [300_001, undefined],
    [-60_000, 200],
    [-60_001, undefined],
  ])("X-97 is fresh within five minutes and a minute of skew: %d ms old gives %s", (age, power) => {
    expect(read({ cpu: report(200, age) })?.power).toBe(power);
  });

  it("X-97 is missing if the CPU or the GPU reading is stale", () => {
    expect(read({ cpu: report(200), gpu: report(900, 300_001) }, true)).toBeUndefined();
  });

  it.each([undefined, {}, { cpu: {} }, { cpu: { observedPowerWatts: watts(5) } }, { cpu: report(undefined) }])(
    "X-31 is missing for %j",
    (status) => {
      expect(read(status)).toBeUndefined();
      expect(read(status, true)).toBeUndefined();
    },
  );

  it("X-31 is missing if the value is invalid", () => {
    expect(read({ cpu: report(Number.NaN) })).toBeUndefined();
    expect(read({ cpu: report(-5) })).toBeUndefined();
    expect(read({ cpu: { observedPowerWatts: watts(5), updatedAt: "soon" } })).toBeUndefined();
  });

  it.each([-5, Number.NaN, Infinity])("X-31 is missing if one part is %d W, even if the sum is valid", (bad) => {
    expect(read({ cpu: report(bad), gpu: report(900) }, true)).toBeUndefined();
    expect(read({ cpu: report(900), gpu: report(bad) }, true)).toBeUndefined();
  });

  it("is missing if the sum is infinite", () => {
    expect(read({ cpu: report(1e308), gpu: report(1e308) }, true)).toBeUndefined();
  });
});
