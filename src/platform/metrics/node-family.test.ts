import { describe, expect, it } from "vitest";
import { metric, NodeMetricTable } from "./index.ts";

const density = metric({ name: "joulie_density", help: "Share.", type: "gauge", labels: ["node", "component"] });
const actions = metric({ name: "joulie_actions_total", help: "Actions.", type: "counter", labels: ["node", "action"] });
const state = metric({
  name: "joulie_state",
  help: "State.",
  type: "states",
  labels: ["node", "state"],
  states: ["performance", "eco"],
});

const page = (table: NodeMetricTable): string => [...table.chunks()].join("");
const series = (table: NodeMetricTable): string[] =>
  page(table)
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));

describe("the metrics of a NodeTable", () => {
  it("exposes one series per state, 1 for the current one, and none if it is unknown", () => {
    const table = new NodeMetricTable();
    const states = table.states(state);
    const row = table.join("a");
    states.set(row, "eco");
    expect(series(table)).toEqual([
      'joulie_state{node="a",state="eco"} 1',
      'joulie_state{node="a",state="performance"} 0',
    ]);
    expect(page(table)).toContain("# TYPE joulie_state gauge\n");
    states.set(row, "performance");
    expect(series(table)).toEqual([
      'joulie_state{node="a",state="eco"} 0',
      'joulie_state{node="a",state="performance"} 1',
    ]);
    states.set(row, undefined);
    expect(series(table)).toEqual([]);
    expect(() => states.set(row, "asleep" as "eco")).toThrow('has no state "asleep"; it has performance, eco');
  });

  it("increments a counter per node, from the first increment or an explicit 0", () => {
    const table = new NodeMetricTable();
    const counter = table.counter(actions);
    const row = table.join("a");
    expect(series(table)).toEqual([]);
    counter.add(row, 0, { action: "cap" });
    expect(series(table)).toEqual(['joulie_actions_total{node="a",action="cap"} 0']);
    counter.add(row, 1, { action: "cap" });
    counter.add(row, 2, { action: "cap" });
    counter.add(row, 1, { action: "restore" });
    expect(series(table)).toEqual([
      'joulie_actions_total{node="a",action="cap"} 3',
      'joulie_actions_total{node="a",action="restore"} 1',
    ]);
    for (const count of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => counter.add(row, count, { action: "cap" })).toThrow(RangeError);
    }
  });

  it("removes the series of one metric for one node", () => {
    const table = new NodeMetricTable();
    const gauge = table.gauge(density);
    for (const name of ["a", "b"]) {
      for (const component of ["cpu", "gpu"]) gauge.column({ component }).set(table.join(name), 1);
    }
    gauge.clear(table.join("a"));
    expect(series(table)).toEqual([
      'joulie_density{node="b",component="cpu"} 1',
      'joulie_density{node="b",component="gpu"} 1',
    ]);
  });
});
