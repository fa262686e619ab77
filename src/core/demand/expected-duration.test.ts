import { describe, expect, it } from "vitest";
import type { Pod } from "../api/index.ts";
import { expectedDurationOf } from "./pod-annotations.ts";

const podWith = (value: unknown): Pod =>
  ({ metadata: { name: "p", annotations: { "joulie.io/expected-duration": value } }, spec: {} }) as unknown as Pod;

describe("expectedDurationOf", () => {
  it("reads a duration in seconds", () => {
    expect(expectedDurationOf(podWith("45m"))).toEqual({ duration: 2700 });
    expect(expectedDurationOf(podWith("1h30m"))).toEqual({ duration: 5400 });
    expect(expectedDurationOf(podWith("720h"))).toEqual({ duration: 2_592_000 });
  });

  it("returns nothing and no problem without the annotation", () => {
    expect(expectedDurationOf({ metadata: { name: "p" }, spec: {} })).toEqual({ duration: undefined });
    expect(expectedDurationOf({} as Pod)).toEqual({ duration: undefined });
  });

  it.each([
    ["", '"" is no duration'],
    ["soon", '"soon" is no duration'],
    ["-5m", '"-5m" is no duration'],
    ["0s", "0s is not between 1s and 720h"],
    ["1ns", "1ns is not between"],
    ["721h", "721h is not between"],
    ["9".repeat(100_000), "100000 characters"],
    [45, "it is a number"],
    [null, "it is a object"],
    [{ toString: "x" }, "it is a object"],
  ])("ignores %j and says why", (value, reason) => {
    const { duration, problem } = expectedDurationOf(podWith(value));
    expect(duration).toBeUndefined();
    expect(problem).toMatch(/^joulie\.io\/expected-duration is ignored: /);
    expect(problem).toContain(reason);
    expect(problem?.length).toBeLessThan(200);
  });
});
