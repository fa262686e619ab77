import { describe, expect, it } from "vitest";
import { type MetricDefinition, metric } from "./index.ts";

const good = { name: "joulie_watts", help: "Watts.", type: "gauge", labels: ["node"] } as const;

describe("metric", () => {
  it("returns a valid definition unchanged", () => {
    expect(metric(good)).toBe(good);
  });

  const bad: readonly (readonly [string, MetricDefinition])[] = [
    ["lower case", { ...good, name: "Joulie_Watts" }],
    ["lower case", { ...good, name: "joulie__watts" }],
    ["lower case", { ...good, name: "1_watts" }],
    ["lower case", { ...good, name: "" }],
    ["must end with _total", { ...good, type: "counter" }],
    ["not a counter", { ...good, name: "joulie_watts_total" }],
    ["histogram", { ...good, name: "joulie_count" }],
    ["no help", { ...good, help: " \n" }],
    ["label", { ...good, labels: ["no-de"] }],
    ["label", { ...good, labels: ["__name__"] }],
    ["label", { ...good, labels: ["le"] }],
    ["label", { ...good, labels: ["instance"] }],
    ["duplicate label", { ...good, labels: ["node", "node"] }],
    ["ascending buckets", { ...good, type: "histogram", buckets: [] }],
    ["ascending buckets", { ...good, type: "histogram", buckets: [1, 1] }],
    ["ascending buckets", { ...good, type: "histogram", buckets: [1, Number.NaN] }],
    ["ascending buckets", { ...good, type: "histogram", buckets: [1, Number.POSITIVE_INFINITY] }],
    ["distinct states", { ...good, type: "states", states: [] }],
    ["distinct states", { ...good, type: "states", states: ["a", "a"] }],
    ["label for its state", { ...good, type: "states", labels: [], states: ["a"] }],
  ];
  it.each(bad)("rejects an invalid definition with a reason: %s", (why, definition) => {
    expect(() => metric(definition)).toThrow(RangeError);
    expect(() => metric(definition)).toThrow(why);
    expect(() => metric(definition)).toThrow(JSON.stringify(definition.name));
  });
});
