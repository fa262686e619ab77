import { describe, expect, it } from "vitest";
import { builtinCatalogue, densityOf, hardwareView } from "../../core/inventory/index.ts";
import { effectiveCaps, linearCoolingModel } from "../../core/twin/index.ts";
import { instant, watts } from "../../core/units/index.ts";
import { parseConfig } from "../../platform/config/index.ts";
import { operatorConfig } from "./config.ts";
import { Memory } from "./memory.ts";
import type { PassInput } from "./pass-input.ts";
import { settingsOf } from "./settings.ts";
import type { Target } from "./target.ts";
import { withTwins } from "./twins.ts";

const NOW = instant(Date.UTC(2030, 0, 1));

/** Counts every field that is read of a value, and of what is in it. */
function counted<Value extends object>(value: Value, onRead: () => void): Value {
  return new Proxy(value, {
    get(from, key) {
      onRead();
      const field: unknown = Reflect.get(from, key);
      return typeof field === "object" && field !== null && !Object.isFrozen(field) ? counted(field, onRead) : field;
    },
  });
}

/** What one pass costs whose nodes are all new, in fields read of its targets and in questions to the cooling model. */
function costOf(nodes: number): { readonly reads: number; readonly cooling: number } {
  const variables = {
    OPERATOR_NODE_POWER_SOURCE: "http",
    OPERATOR_NODE_POWER_HTTP_ENDPOINT: "http://meter/{node}",
  };
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(operatorConfig, { env: variables, flags: {}, machine });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
  let reads = 0;
  let cooling = 0;
  const linear = linearCoolingModel();
  const settings = settingsOf(parsed.value.values, builtinCatalogue);
  const model: typeof linear = {
    coolingStress: (...input) => {
      cooling++;
      return linear.coolingStress(...input);
    },
  };
  const names = Array.from({ length: nodes }, (_, index) => `n${index}`);
  const targets = names.map((name) => {
    const node = { metadata: { name, labels: { "joulie.io/rack": `r${name.slice(-1)}` } } };
    const view = hardwareView(node, undefined);
    const caps = effectiveCaps({}, view);
    const target = {
      name,
      managed: { name, node, shape: { view, density: densityOf(view) } },
      next: { state: "ActivePerformance", caps: "performance" },
      caps,
      budget: watts(150),
    } as unknown as Target;
    return counted(target, () => reads++);
  });
  const power = new Map(names.map((name) => [name, { power: watts(100), source: "http" as const, at: NOW }]));
  const input = {
    settings: { ...settings, twin: { ...settings.twin, cooling: model } },
    telemetry: { power, usage: new Map(), facility: { site: {}, zones: new Map(), racks: new Map() } },
    memory: new Memory(),
    now: NOW,
  } as unknown as PassInput;
  expect(withTwins(targets, input).size).toBe(nodes);
  return { reads, cooling };
}

describe("the twins of a pass", () => {
  it("TWN-26 cost as much for each node however many there are", () => {
    const [few, many] = [costOf(30), costOf(300)];
    expect(many.cooling).toBe(300);
    expect(few.cooling).toBe(30);
    expect(many.reads / 300).toBe(few.reads / 30);
  });
});
