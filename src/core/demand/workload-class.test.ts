import { describe, expect, it } from "vitest";
import { workloadClassOf } from "./pod-annotations.ts";

const podWith = (annotations?: Record<string, string>) => ({
  metadata: { name: "p", ...(annotations && { annotations }) },
  spec: {},
});

describe("workload class", () => {
  it("SCH-03 is read from the annotation and defaults to standard", () => {
    expect(workloadClassOf(podWith({ "joulie.io/workload-class": "performance" }))).toStrictEqual({
      workloadClass: "performance",
    });
    expect(workloadClassOf(podWith({ "joulie.io/workload-class": "standard" }))).toStrictEqual({
      workloadClass: "standard",
    });
    expect(workloadClassOf(podWith({ other: "performance" }))).toStrictEqual({ workloadClass: "standard" });
    expect(workloadClassOf(podWith())).toStrictEqual({ workloadClass: "standard" });
  });

  it.each(["Performance", " performance", "", "batch", "eco"])(
    "reads %j as standard and returns the text for a warning",
    (text) => {
      expect(workloadClassOf(podWith({ "joulie.io/workload-class": text }))).toStrictEqual({
        workloadClass: "standard",
        unrecognised: text,
      });
    },
  );

  it("X-12 returns only the beginning of a long text, which may be up to 256 KiB per pod", () => {
    const { unrecognised } = workloadClassOf(podWith({ "joulie.io/workload-class": "x".repeat(200_000) }));
    expect(unrecognised).toBe(`${"x".repeat(63)}…`);
    const longest = "y".repeat(63);
    expect(workloadClassOf(podWith({ "joulie.io/workload-class": longest })).unrecognised).toBe(longest);
  });
});
