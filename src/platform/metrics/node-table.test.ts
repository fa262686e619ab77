import * as fc from "fast-check";
import { Gauge, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { metric, NodeMetricTable } from "./index.ts";

const headroom = metric({ name: "joulie_headroom", help: "Points.", type: "gauge", labels: ["node"] });
const density = metric({ name: "joulie_density", help: "Share.", type: "gauge", labels: ["node", "component"] });
const actions = metric({ name: "joulie_actions_total", help: "Actions.", type: "counter", labels: ["node", "action"] });
const state = metric({
  name: "joulie_state",
  help: "State.",
  type: "states",
  labels: ["node", "state"],
  states: ["performance", "eco"],
});

const nodeTable = () => new NodeMetricTable(() => undefined);
const page = (table: NodeMetricTable): string => [...table.chunks()].join("");
const series = (table: NodeMetricTable): string[] =>
  page(table)
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));

describe("NodeTable", () => {
  it("writes the text format: header, then a line for each value", () => {
    const table = nodeTable();
    const gauge = table.gauge(density);
    const row = table.join("worker-1.example");
    gauge.column({ component: "cpu" }).set(row, 0.25);
    gauge.column({ component: "gpu" }).set(row, -3);
    expect(page(table)).toBe(
      [
        "# HELP joulie_density Share.",
        "# TYPE joulie_density gauge",
        'joulie_density{node="worker-1.example",component="cpu"} 0.25',
        'joulie_density{node="worker-1.example",component="gpu"} -3',
        "",
      ].join("\n"),
    );
  });

  it("keeps the labels in the order of the definition, wherever the node label is", () => {
    const table = nodeTable();
    const gauge = table.gauge(metric({ ...headroom, labels: ["zone", "node", "cpu"] }));
    gauge.column({ zone: "z", cpu: "7" }).set(table.join("a"), 1);
    expect(series(table)).toEqual(['joulie_headroom{zone="z",node="a",cpu="7"} 1']);
  });

  it("sorts series by the other labels, in each the nodes in the order in which they joined", () => {
    for (const names of [
      ["a", "b", "c"],
      ["c", "a", "b"],
    ]) {
      const table = nodeTable();
      table.join("x");
      const gauge = table.gauge(density);
      for (const component of ["gpu", "cpu"]) {
        for (const name of names) gauge.column({ component }).set(table.join(name), 1);
      }
      table.leave("x");
      expect(series(table)).toEqual(
        ["cpu", "gpu"].flatMap((component) =>
          names.map((node) => `joulie_density{node="${node}",component="${component}"} 1`),
        ),
      );
    }
  });

  it("omits missing and non-finite values, and writes 0", () => {
    const table = nodeTable();
    const column = table.gauge(headroom).column();
    const values = [undefined, Number.NaN, Infinity, -Infinity, 0, 1e308];
    values.forEach((value, index) => column.set(table.join(`n${index}`), value));
    expect(series(table)).toEqual(['joulie_headroom{node="n4"} 0', 'joulie_headroom{node="n5"} 1e+308']);
    column.set(table.join("n4"), undefined);
    expect(series(table)).toHaveLength(1);
  });

  it("escapes label values and help as prom-client does", async () => {
    const text = fc.string({ unit: fc.constantFrom("a", '"', "\\", "\n", "n", "}", "=", ",", "é", "\u{1f50c}", "\0") });
    await fc.assert(
      fc.asyncProperty(text, text, async (node, component) => {
        const help = `Says "this" \\ and\nthat.`;
        const registry = new Registry();
        new Gauge({ ...density, help, labelNames: [...density.labels], registers: [registry] }).set(
          { node, component },
          1.5,
        );
        const table = nodeTable();
        table
          .gauge({ ...density, help })
          .column({ component })
          .set(table.join(node), 1.5);
        expect(page(table)).toBe(await registry.metrics());
      }),
      { examples: [['a"b\\c\nd', '\\n"']] },
    );
  });

  it("removes all series of a removed node, and does not pass them to the next node", () => {
    const table = nodeTable();
    const gauge = table.gauge(density).column({ component: "cpu" });
    const counter = table.counter(actions);
    const states = table.states(state);
    for (const name of ["gone", "stays"]) {
      const row = table.join(name);
      gauge.set(row, 1);
      counter.add(row, 5, { action: "cap" });
      states.set(row, "eco");
    }
    expect(page(table).match(/gone/g)).toHaveLength(4);
    table.leave("gone");
    table.leave("gone");
    expect(page(table)).not.toContain("gone");
    expect(series(table)).toHaveLength(4);

    const next = table.join("next");
    expect(page(table)).not.toContain("next");
    counter.add(next, 1, { action: "cap" });
    expect(page(table)).toContain('joulie_actions_total{node="next",action="cap"} 1');
  });

  it("ignores writes to the row of a removed node, even if the node was added again", () => {
    const table = nodeTable();
    const column = table.gauge(headroom).column();
    const counter = table.counter(actions);
    const old = table.join("a");
    table.leave("a");
    column.set(old, 7);
    counter.add(old, 7, { action: "cap" });
    const back = table.join("a");
    column.set(old, 7);
    expect(back).not.toBe(old);
    expect(series(table)).toEqual([]);
    expect(table.row("a")).toBe(back);
    expect(table.row("b")).toBeUndefined();
  });

  it("keeps only the given nodes", () => {
    const table = nodeTable();
    const column = table.gauge(headroom).column();
    for (const name of ["a", "b", "c"]) column.set(table.join(name), 1);
    table.keepOnly(new Set(["b", "unknown"]));
    expect(series(table)).toEqual(['joulie_headroom{node="b"} 1']);
    expect(table.row("unknown")).toBeUndefined();
    column.set(table.join("0"), 2);
    expect(series(table)).toEqual(['joulie_headroom{node="b"} 1', 'joulie_headroom{node="0"} 2']);
  });

  it("equals a plain map of series after any operations, even during a scrape", () => {
    const name = fc.constantFrom("a", "b", "c", "d", "e");
    const component = fc.constantFrom("cpu", "gpu", "x");
    const step = fc.oneof(
      fc.record({
        kind: fc.constant("set" as const),
        name,
        component,
        value: fc.option(fc.nat(9), { nil: undefined }),
      }),
      fc.record({ kind: fc.constant("leave" as const), name }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), fc.array(step, { maxLength: 20 }), (before, during) => {
        const table = nodeTable();
        const gauge = table.gauge(density);
        const plain = new Map<string, number>();
        const run = (steps: typeof before) => {
          for (const one of steps) {
            if (one.kind === "leave") {
              table.leave(one.name);
              for (const key of plain.keys()) if (key.includes(`node="${one.name}"`)) plain.delete(key);
            } else {
              gauge.column({ component: one.component }).set(table.join(one.name), one.value);
              const key = `joulie_density{node="${one.name}",component="${one.component}"}`;
              if (one.value === undefined) plain.delete(key);
              else plain.set(key, one.value);
            }
          }
        };
        for (const one of before) {
          run([one]);
          page(table);
        }
        expect(series(table).toSorted()).toEqual([...plain].map(([key, value]) => `${key} ${value}`).toSorted());

        // A change after every chunk: no series is written twice.
        const torn: string[] = [];
        const left = during.slice();
        for (const chunk of table.chunks(1)) {
          torn.push(...chunk.split("\n").map((line) => line.split(" ")[0] ?? ""));
          run(left.splice(0, 1));
        }
        const keys = torn.filter((key) => key.startsWith("joulie_density{"));
        expect(new Set(keys).size).toBe(keys.length);
      }),
    );
  });

  it("is rendered in chunks of a fixed number of rows, also after the table has grown", () => {
    const table = nodeTable();
    const early = table.gauge(headroom).column();
    for (let node = 0; node < 1000; node++) early.set(table.join(`node-${node}`), node);
    const late = table.gauge(density).column({ component: "cpu" });
    for (let node = 0; node < 1000; node++) late.set(table.join(`node-${node}`), node);
    const chunks = [...table.chunks(100)];
    expect(Math.max(...chunks.map((chunk) => chunk.split("\n").length - 1))).toBe(100);
    expect(chunks).toHaveLength(22);
    expect(new Set(series(table)).size).toBe(2000);
    expect(page(table)).toContain('joulie_headroom{node="node-999"} 999\n');
    expect(page(table)).toContain('joulie_headroom{node="node-0"} 0\n');
  });

  it("exposes one series per state, 1 for the current one, and none if it is unknown", () => {
    const table = nodeTable();
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
  });

  it("increments a counter per node, from the first increment or an explicit 0", () => {
    const table = nodeTable();
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
  });

  it("removes the series of one metric for one node", () => {
    const table = nodeTable();
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
