import { describe, expect, it } from "vitest";
import { schedulableClasses } from "../api/index.ts";
import { filterNode } from "./filter.ts";
import { twinStateOf } from "./twin-state.ts";

const ofClass = (schedulableClass: string) => twinStateOf({ schedulableClass } as Parameters<typeof twinStateOf>[0]);

describe("filterNode", () => {
  it("SCH-04 rejects an eco node for a performance pod with a reason", () => {
    expect(filterNode("performance", ofClass("eco"), undefined)).toBe(
      "Joulie: the node is capped to save energy (class eco); performance pods need a node of class performance",
    );
  });

  it("SCH-05 rejects a draining node for a performance pod with a reason", () => {
    expect(filterNode("performance", ofClass("draining"), undefined)).toBe(
      "Joulie: the operator makes the node eco when its performance pods have ended (class draining), so it takes no further ones",
    );
  });

  it("SCH-06 passes a performance node to a performance pod", () => {
    expect(filterNode("performance", ofClass("performance"), undefined)).toBeUndefined();
  });

  it("SCH-07 rejects a node with the eco label if there is no twin", () => {
    expect(filterNode("performance", undefined, "eco")).toBe(
      "Joulie: the node is labelled power-profile=eco and its twin says nothing else; performance pods need a performance node",
    );
  });

  it("SCH-07 rejects a node with the draining label if there is no twin, whatever its profile label", () => {
    for (const profile of [undefined, "eco", "performance"])
      expect(filterNode("performance", undefined, profile, "true")).toContain("labelled draining=true");
    expect(filterNode("performance", undefined, "performance", "false")).toBeUndefined();
    expect(filterNode("performance", ofClass("performance"), undefined, "true")).toBeUndefined();
    expect(filterNode("standard", undefined, undefined, "true")).toBeUndefined();
  });

  it.each(["performance", "standard"] as const)(
    "SCH-08 passes an unknown node without eco label to a %s pod",
    (pod) => {
      for (const label of [undefined, "performance", "", "ECO"])
        expect(filterNode(pod, undefined, label)).toBeUndefined();
    },
  );

  it("SLP-01 rejects a sleeping node for every pod", () => {
    for (const pod of ["performance", "standard"] as const) {
      for (const label of [undefined, "eco", "performance"]) {
        expect(filterNode(pod, ofClass("asleep"), label)).toBe(
          "Joulie: the node is asleep (class asleep); Joulie wakes it when pods need it",
        );
      }
    }
  });

  it("SLP-02 rejects a node that the power program does not report as on, whatever its class", () => {
    for (const schedulableClass of schedulableClasses) {
      for (const state of ["stopping", "off", "waking", "failed"] as const) {
        expect(filterNode("standard", twinStateOf({ schedulableClass, power: { state } }), undefined)).toContain(
          "asleep",
        );
      }
    }
    const awake = twinStateOf({ schedulableClass: "performance", power: { state: "on" } });
    expect(filterNode("performance", awake, undefined)).toBeUndefined();
  });

  it("SLP-16 accepts a node that has woken since the operator published class asleep, as under the stop switch", () => {
    const woken = (since: string) =>
      twinStateOf({
        schedulableClass: "asleep",
        lastUpdated: "2030-01-01T00:10:00Z",
        power: { state: "on", since },
      });
    expect(filterNode("standard", woken("2030-01-01T00:15:00Z"), undefined)).toBeUndefined();
    expect(filterNode("performance", woken("2030-01-01T00:15:00Z"), "eco")).toContain("labelled");
    expect(filterNode("standard", woken("2030-01-01T00:05:00Z"), undefined)).toContain("asleep");
  });

  it("SCH-09 passes every node that is awake to a standard pod", () => {
    for (const schedulableClass of schedulableClasses) {
      if (schedulableClass === "asleep") continue;
      for (const label of [undefined, "eco", "performance"]) {
        expect(filterNode("standard", ofClass(schedulableClass), label)).toBeUndefined();
      }
    }
    expect(filterNode("standard", undefined, "eco")).toBeUndefined();
  });

  it("X-43 uses the class of a twin of any age", () => {
    const old = twinStateOf({ schedulableClass: "eco", lastUpdated: "1999-01-01T00:00:00Z" });
    expect(filterNode("performance", old, "performance")).toContain("class eco");
  });

  it("X-44 prefers the class performance to the eco label", () => {
    expect(filterNode("performance", ofClass("performance"), "eco")).toBeUndefined();
  });

  it.each(["unknown", "somethingNew"])("X-69 uses the label for class %s", (schedulableClass) => {
    expect(filterNode("performance", ofClass(schedulableClass), "eco")).toContain("labelled power-profile=eco");
    expect(filterNode("performance", ofClass(schedulableClass), "performance")).toBeUndefined();
    expect(filterNode("performance", ofClass(schedulableClass), undefined)).toBeUndefined();
  });
});
