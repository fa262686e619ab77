import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { celsius, watts } from "../units/index.ts";
import { tableCoolingModel } from "./cooling-table.ts";

const HEADER = "nodePowerW,ambientC,stress";
const csv = (...rows: readonly string[]) => [HEADER, ...rows].join("\n");
function stressBy(text: string) {
  const model = tableCoolingModel(text);
  if (!model.ok) throw new Error(model.error);
  return (power: number, ambient: number) => model.value.coolingStress(watts(power), celsius(ambient));
}
const problemOf = (text: string): string => {
  const model = tableCoolingModel(text);
  return model.ok ? "" : model.error;
};

describe("a cooling model from a table", () => {
  const grid = csv("1000,20,20", "1000,30,40", "4000,20,50", "4000,30,70");

  it("TWN-25 X-160 has the stress of its points, and between them that of their plane", () => {
    const stress = stressBy(grid);
    expect([stress(1000, 20), stress(4000, 30)]).toEqual([20, 70]);
    expect([stress(2500, 20), stress(1000, 25), stress(2500, 25)]).toEqual([35, 30, 45]);
  });

  it("X-160 takes the edge below the grid, and goes on rising above it, up to 100", () => {
    const stress = stressBy(grid);
    expect([stress(0, 20), stress(1000, -10)]).toEqual([20, 20]);
    expect([stress(5000, 20), stress(4000, 35)]).toEqual([60, 80]);
    expect(stress(40_000, 50)).toBe(100);
    expect(stress(Number.NaN, 20)).toBeUndefined();
    expect(stress(1000, Number.NaN)).toBeUndefined();
  });

  it("X-160 takes points in any order, with quotes, spaces and Windows' line ends; and a single one", () => {
    const text = `"nodePowerW", "ambientC", "stress"\r\n4000, 30, 70\r\n1000,20,20\r\n4000,20,50\r\n1000,30,40\r\n`;
    expect(stressBy(text)(2500, 25)).toBe(45);
    expect(stressBy(csv("1000,20,33"))(9000, 40)).toBe(33);
  });

  it("X-160 never falls as power or temperature rises, whatever the grid", () => {
    const axis = fc.uniqueArray(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 6 });
    const place = fc.double({ min: -100, max: 9000, noNaN: true });
    fc.assert(
      fc.property(
        axis,
        axis,
        fc.array(place, { minLength: 2, maxLength: 20 }),
        place,
        (powers, airs, places, other) => {
          const rows = powers.flatMap((power) => airs.map((air) => `${power},${air},${(power * air) / 250_000}`));
          const stress = stressBy(csv(...rows));
          const sorted = places.toSorted((a, b) => a - b);
          for (const values of [sorted.map((one) => stress(one, other)), sorted.map((one) => stress(other, one))])
            for (const [index, value = -1] of values.slice(1).entries())
              expect(value).toBeGreaterThanOrEqual((values[index] ?? 101) - 1e-9);
        },
      ),
    );
  });

  it.each([
    ["power,ambient,stress\n1,2,3", "the first line has to be nodePowerW,ambientC,stress"],
    [HEADER, "has 0 points, allowed are 1 to 100000"],
    [csv("1000,20"), "line 2 is not three numbers: 1000,20"],
    [csv("1000,,20"), "line 2 is not three numbers: 1000,,20"],
    [csv("1000,20,20", "1000,hot,20"), "line 3 is not three numbers: 1000,hot,20"],
    [csv("1000,20,101"), "line 2: power is at least 0 and stress from 0 to 100"],
    [csv("-1,20,10"), "line 2: power is at least 0 and stress from 0 to 100"],
    [csv("1000,20,20", "1000,20,30"), "line 3 repeats the point 1000 W, 20 °C"],
    [csv("1000,20,20", "4000,30,70"), "the point 1000 W, 30 °C is missing: every power needs every temperature"],
    [csv("1000,20,20", "1000,30,19"), "stress falls at 1000 W, 30 °C: it may not fall as power or temperature rises"],
    [csv("1000,20,20", "2000,20,19"), "stress falls at 2000 W, 20 °C: it may not fall as power or temperature rises"],
  ])("X-160 refuses %j, and says why", (text, why) => {
    expect(problemOf(text)).toBe(why);
  });
});
