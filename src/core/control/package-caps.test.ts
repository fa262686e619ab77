import { describe, expect, it } from "vitest";
import { percent, watts } from "../units/index.ts";
import {
  type CpuPackage,
  capPerPackage,
  describeCaps,
  describeClamping,
  type PackageCap,
  resolvePackageCaps,
  totalCap,
} from "./package-caps.ts";

const cpuPackage = (id: string, device: Record<string, number>, count = 1): CpuPackage => ({
  id,
  device,
  count,
});
/** The original limit of one package is 100 W, that of the other 350 W. */
const unequal = [
  cpuPackage("package-0", { max: 350, original: 350 }),
  cpuPackage("package-1", { max: 350, original: 100 }),
];
const cap = (id: string, value: number, count = 1): PackageCap => ({ id, watts: watts(value), count });

describe("resolvePackageCaps", () => {
  it.each([
    [{ watts: watts(5000) }, [350, 100]],
    [{ pctOfMax: percent(60) }, [210, 100]],
    [{ watts: watts(80) }, [80, 80]],
  ])("X-36 clamps %j to each package's own original limit", (intent, expected) => {
    const caps = resolvePackageCaps(intent, unequal);
    expect(caps.kind === "watts" && caps.caps.map(({ watts: value }) => value)).toEqual(expected);
  });

  it("AGT-14 applies a percentage to the maximum of each package", () => {
    const packages = [cpuPackage("package-0", { max: 400 }), cpuPackage("package-1", { max: 200 })];
    expect(resolvePackageCaps({ pctOfMax: percent(50) }, packages)).toEqual({
      kind: "watts",
      caps: [cap("package-0", 200), cap("package-1", 100)],
    });
  });

  it("AGT-19 uses a percentage for all packages if the maximum of one is unknown", () => {
    const packages = [cpuPackage("package-0", { max: 400 }), cpuPackage("package-1", {})];
    expect(resolvePackageCaps({ pctOfMax: percent(50) }, packages)).toEqual({ kind: "percent", pctOfMax: 50 });
  });

  it("requests no cap if the target has none or there are no packages", () => {
    expect(resolvePackageCaps({}, unequal)).toEqual({ kind: "uncapped", asked: false });
    expect(resolvePackageCaps({ watts: watts(100) }, [])).toEqual({ kind: "uncapped", asked: false });
  });
});

describe("the caps of several packages", () => {
  it("X-35 add up to the DVFS target, weighted by the number of packages", () => {
    expect(totalCap([cap("packages", 240, 2)])).toBe(480);
    expect(totalCap([cap("package-0", 210), cap("package-1", 100)])).toBe(310);
  });

  it.each([0, -1, Number.NaN, Infinity])("X-35 have no sum with %d packages", (count) => {
    expect(totalCap([cap("packages", 240, count)])).toBeUndefined();
  });

  it("are reported as one value if equal, else as their mean", () => {
    expect(capPerPackage([])).toBeUndefined();
    expect(capPerPackage([cap("packages", 240, 0)])).toBe(240);
    expect(capPerPackage([cap("package-0", 210), cap("package-1", 100)])).toBe(155);
  });

  it("X-88 are described together if equal, else one by one", () => {
    expect(describeCaps([cap("package-0", 240), cap("package-1", 240)])).toBe("240 W per package");
    expect(describeCaps([cap("package-0", 210), cap("package-1", 100)])).toBe("package-0 210 W, package-1 100 W");
    const clamped = { ...cap("package-1", 100), clamped: "210 W requested, clamped to 100 W" };
    expect(describeClamping([cap("package-0", 210), clamped])).toBe("package-1: 210 W requested, clamped to 100 W");
    expect(describeClamping([clamped, { ...clamped, id: "package-0" }])).toBe("210 W requested, clamped to 100 W");
    expect(describeClamping([cap("package-0", 210)])).toBeUndefined();
  });
});
