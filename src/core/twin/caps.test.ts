import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NodeTwinSpec } from "../api/index.ts";
import { percent, watts } from "../units/index.ts";
import { effectiveCaps } from "./caps.ts";

const cpu = { sockets: 2, maxWattsPerSocket: watts(400) };
const gpu = { count: 4, maxWatts: watts(700) };
const both = { cpu, gpu };
const caps = (cpuCap?: NodeTwinSpec["cpu"], powerCap?: NonNullable<NodeTwinSpec["gpu"]>["powerCap"]) => ({
  ...(cpuCap ? { cpu: cpuCap } : {}),
  ...(powerCap ? { gpu: { powerCap } } : {}),
});

describe("effectiveCaps", () => {
  it("TWN-13 uses the percentages of the target", () => {
    expect(effectiveCaps(caps({ packagePowerCapPctOfMax: percent(60) }, { capPctOfMax: percent(70) }), both)).toEqual({
      cpuPct: 60,
      gpuPct: 70,
    });
  });

  it("TWN-13 defaults to 100", () => {
    expect(effectiveCaps({}, both)).toEqual({ cpuPct: 100, gpuPct: 100 });
    expect(effectiveCaps({ gpu: {} }, both)).toEqual({ cpuPct: 100, gpuPct: 100 });
    expect(effectiveCaps(caps({}, {}), both)).toEqual({ cpuPct: 100, gpuPct: 100 });
  });

  it("X-54 converts watts to a percentage of the maximum of one package or one GPU", () => {
    expect(effectiveCaps(caps({ packagePowerCapWatts: watts(240) }, { capWattsPerGpu: watts(350) }), both)).toEqual({
      cpuPct: 60,
      gpuPct: 50,
    });
  });

  it("X-54 prefers watts to the percentage, as the agent does", () => {
    const spec = caps(
      { packagePowerCapWatts: watts(100), packagePowerCapPctOfMax: percent(90) },
      { capWattsPerGpu: watts(70), capPctOfMax: percent(90) },
    );
    expect(effectiveCaps(spec, both)).toEqual({ cpuPct: 25, gpuPct: 10 });
  });

  it("X-54 limits the result to 100", () => {
    const spec = caps({ packagePowerCapWatts: watts(5000) }, { capWattsPerGpu: watts(701) });
    expect(effectiveCaps(spec, both)).toEqual({ cpuPct: 100, gpuPct: 100 });
    expect(effectiveCaps(caps({ packagePowerCapPctOfMax: percent(250) }), both).cpuPct).toBe(100);
  });

  it.each([undefined, { count: 0, maxWatts: watts(700) }])("X-80 returns gpuPct 100 if the GPUs are %j", (none) => {
    const spec = caps({ packagePowerCapPctOfMax: percent(60) }, { capPctOfMax: percent(50) });
    expect(effectiveCaps(spec, { cpu, gpu: none })).toEqual({ cpuPct: 60, gpuPct: 100 });
  });

  it("falls back to the percentage, then to 100, if a maximum is invalid", () => {
    const unknown = { cpu: { sockets: 2, maxWattsPerSocket: watts(0) } };
    const watched = { packagePowerCapWatts: watts(240) };
    expect(effectiveCaps({ cpu: { ...watched, packagePowerCapPctOfMax: percent(70) } }, unknown).cpuPct).toBe(70);
    expect(effectiveCaps({ cpu: watched }, unknown).cpuPct).toBe(100);
  });

  it("stays in (0, 100] for any input", () => {
    const any = fc.option(fc.double(), { nil: undefined });
    fc.assert(
      fc.property(any, any, fc.double(), fc.integer(), (asWatts, pct, max, count) => {
        const spec = {
          cpu: { packagePowerCapWatts: asWatts, packagePowerCapPctOfMax: pct },
          gpu: { powerCap: { capWattsPerGpu: asWatts, capPctOfMax: pct } },
        } as Parameters<typeof effectiveCaps>[0];
        const { cpuPct, gpuPct } = effectiveCaps(spec, {
          cpu: { sockets: 1, maxWattsPerSocket: watts(max) },
          gpu: { count, maxWatts: watts(max) },
        });
        for (const value of [cpuPct, gpuPct]) expect(value >= 0 && value <= 100).toBe(true);
      }),
    );
  });
});
