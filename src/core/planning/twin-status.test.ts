import { describe, expect, it } from "vitest";
import { densityOf, hardwareView } from "../inventory/index.ts";
import { effectiveCaps, linearCoolingModel } from "../twin/index.ts";
import { instant, milliseconds, watts } from "../units/index.ts";
import type { NodeTarget } from "./node-plan.ts";
import type { PlanningInput } from "./planning-input.ts";
import { emptyPlanningMemory } from "./planning-memory.ts";
import { withTwinStatus } from "./twin-status.ts";

const NOW = instant(Date.UTC(2030, 0, 1));

/** Counts every field read of a value and of its nested values. */
function counted<Value extends object>(value: Value, onRead: () => void): Value {
  return new Proxy(value, {
    get(from, key) {
      onRead();
      const field: unknown = Reflect.get(from, key);
      return typeof field === "object" && field !== null && !Object.isFrozen(field) ? counted(field, onRead) : field;
    },
  });
}

/** The cost of one pass with only new nodes: fields read from its targets and calls of the cooling model. */
function costOf(nodes: number): { readonly reads: number; readonly cooling: number } {
  let reads = 0;
  let cooling = 0;
  const linear = linearCoolingModel();
  const model: typeof linear = {
    coolingStress: (...input) => {
      cooling++;
      return linear.coolingStress(...input);
    },
  };
  const names = Array.from({ length: nodes }, (_, index) => `n${index}`);
  const targets = names.map((name) => {
    const node = { metadata: { name, labels: { "joulie.io/rack": `r${name.slice(-1)}` } } };
    const hardware = hardwareView(node, undefined);
    const caps = effectiveCaps({}, hardware);
    const target = {
      name,
      managed: { name, node, shape: { hardware, density: densityOf(hardware) } },
      next: { state: "ActivePerformance", caps: "performance" },
      spec: { nodeName: name, profile: "performance" },
      caps,
      budget: watts(150),
    } as unknown as NodeTarget;
    return counted(target, () => reads++);
  });
  const power = new Map(names.map((name) => [name, { power: watts(100), source: "http" as const, at: NOW }]));
  const input = {
    settings: { powerSource: "http", readingsFreshFor: milliseconds(60_000), twin: { cooling: model } },
    telemetry: { power, usage: new Map(), facility: { site: {}, zones: new Map(), racks: new Map() } },
    memory: emptyPlanningMemory,
    now: NOW,
  } as unknown as PlanningInput;
  expect(withTwinStatus(targets, { hpCount: 0, byName: new Map() }, input).plans.size).toBe(nodes);
  return { reads, cooling };
}

describe("withTwinStatus", () => {
  it("TWN-26 has a constant cost per node: one forecast at the cap and one stress of now", () => {
    const [few, many] = [costOf(30), costOf(300)];
    expect(many.cooling).toBe(600);
    expect(few.cooling).toBe(60);
    expect(many.reads / 300).toBe(few.reads / 30);
  });
});
