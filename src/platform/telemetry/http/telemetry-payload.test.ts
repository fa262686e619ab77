import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { powerInPayload } from "./telemetry-payload.ts";

const power = (value: unknown, scope: "node" | "cpu") => {
  const read = powerInPayload(value, scope);
  return typeof read === "string" ? read : read.power;
};

const anything = fc.oneof(fc.double(), fc.jsonValue());
const shaped = fc.record({
  packagePowerWatts: anything,
  cpu: fc.oneof(fc.record({ packagePowerWatts: anything }), fc.jsonValue()),
  gpu: fc.oneof(fc.record({ present: fc.boolean(), powerWattsTotal: anything }), fc.jsonValue()),
  ts: anything,
});

describe("powerInPayload", () => {
  it("X-17 prefers the node total for the operator and cpu.packagePowerWatts for the agent", () => {
    const both = { packagePowerWatts: 900, cpu: { packagePowerWatts: 250 }, gpu: { powerWattsTotal: 640 } };
    expect(power(both, "node")).toBe(900);
    expect(power(both, "cpu")).toBe(250);
  });

  it.each<[string, unknown, number | string, number | string]>([
    ["only a figure at the top", { packagePowerWatts: 245.3 }, 245.3, 245.3],
    ["only the CPUs'", { cpu: { packagePowerWatts: 245.3 } }, 245.3, 245.3],
    ["CPUs and GPUs", { cpu: { packagePowerWatts: 200 }, gpu: { powerWattsTotal: 700 } }, 900, 200],
    [
      "the GPUs' average, like the other values",
      { cpu: { packagePowerWatts: 200 }, gpu: { powerWattsTotal: 700, avgPowerWattsTotal: 500 } },
      700,
      200,
    ],
    ["a total and GPUs", { packagePowerWatts: 900, gpu: { powerWattsTotal: 700 } }, 900, 200],
    ["a total that cannot hold the GPUs", { packagePowerWatts: 300, gpu: { powerWattsTotal: 700 } }, 1000, 300],
    [
      "a total equal to the CPUs' power",
      { packagePowerWatts: 300, cpu: { packagePowerWatts: 300 }, gpu: { powerWattsTotal: 100 } },
      400,
      300,
    ],
    [
      "the same without GPUs",
      { packagePowerWatts: 300, cpu: { packagePowerWatts: 300 }, gpu: { present: false, powerWattsTotal: 0 } },
      300,
      300,
    ],
    ["GPUs of unknown power", { cpu: { packagePowerWatts: 200 }, gpu: { present: true, count: 8 } }, "incomplete", 200],
    ["a count alone", { cpu: { packagePowerWatts: 200 }, gpu: { count: 1 } }, "incomplete", 200],
    ["no GPU", { cpu: { packagePowerWatts: 200 }, gpu: { present: false, count: 0 } }, 200, 200],
    ["0 W, which is a figure", { packagePowerWatts: 0 }, 0, 0],
    ["nothing", {}, "missing", "missing"],
    ["nulls", { packagePowerWatts: null, cpu: null, gpu: null, ts: null }, "missing", "missing"],
    ["figures of another kind", { packagePowerWatts: "12", cpu: { packagePowerWatts: 5 }, gpu: [] }, 5, 5],
    ["a negative total", { packagePowerWatts: -1 }, "negative", "negative"],
    ["a negative part", { cpu: { packagePowerWatts: 300 }, gpu: { powerWattsTotal: -5 } }, "negative", 300],
    ["1e999", { packagePowerWatts: JSON.parse("1e999") }, "infinite", "infinite"],
    ["an infinite sum", { cpu: { packagePowerWatts: 1e308 }, gpu: { powerWattsTotal: 1e308 } }, "infinite", 1e308],
    ["a list", [], "garbled", "garbled"],
    ["a number", 5, "garbled", "garbled"],
    ["null", null, "garbled", "garbled"],
  ])("reads %s", (_name, value, node, cpu) => {
    expect([power(value, "node"), power(value, "cpu")]).toEqual([node, cpu]);
  });

  it.each([
    ["2026-03-04T00:00:00Z", Date.UTC(2026, 2, 4)],
    [1_700_000_000, 1_700_000_000_000],
    [1_700_000_000_500, 1_700_000_000_500],
    ["yesterday", undefined],
    [{}, undefined],
  ])("reads the time of measurement: %j", (ts, at) => {
    const read = powerInPayload({ packagePowerWatts: 1, ts }, "node");
    expect(typeof read === "string" ? read : read.at).toBe(at);
  });

  it("X-154 tells the power of the whole server from that of packages and boards", () => {
    const server = { serverPowerWatts: 1200 };
    expect(powerInPayload({ packagePowerWatts: 900, ...server }, "node")).toEqual({ power: 900, server: 1200 });
    expect(powerInPayload(server, "node")).toEqual({ server: 1200 });
    expect(powerInPayload({ packagePowerWatts: 900, serverPowerWatts: -1 }, "node")).toEqual({ power: 900 });
    expect(powerInPayload({ serverPowerWatts: null }, "node")).toBe("missing");
    // The agent caps packages.
    expect(powerInPayload(server, "cpu")).toBe("missing");
    expect(powerInPayload({ cpu: { packagePowerWatts: 250 }, ...server }, "cpu")).toEqual({ power: 250 });
  });

  it("returns a power or a reason for any JSON", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.jsonValue(), shaped),
        fc.constantFrom("node" as const, "cpu" as const),
        (value, scope) => {
          const read = power(value, scope);
          expect(typeof read === "string" || (read !== undefined && Number.isFinite(read) && read >= 0)).toBe(true);
        },
      ),
    );
  });
});
