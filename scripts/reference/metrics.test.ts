import { expect, it } from "vitest";
import { type MetricDefinition, metric } from "../../src/platform/metrics/index.ts";
import { programs } from "../../src/programs/index.ts";
import { metricsReference } from "./metrics.ts";

const page = metricsReference([
  {
    name: "operator",
    metrics: [
      metric({
        name: "joulie_state",
        help: "State a|b.",
        type: "states",
        labels: ["node", "state"],
        states: ["on", "off"],
      }),
      metric({ name: "joulie_pass_seconds", help: "Length.", type: "histogram", labels: [], buckets: [0.1, 1] }),
    ],
  },
  { name: "demo", metrics: [] },
]);

it("the metrics page has a section for common metrics and one for each program", () => {
  expect(page.match(/^##.*$/gm)).toEqual(["## Every program", "## joulie operator", "## joulie demo"]);
  expect(page.match(/`process_resident_memory_bytes`/g)).toHaveLength(1);
  expect(page).toContain("It has only the metrics of every program.");
});

it("the metrics page lists name, type, labels and meaning, with states and buckets", () => {
  expect(page).toContain(
    "| `joulie_state` | states | `node`, `state` | State a\\|b. States: `on`, `off`. |\n" +
      "| `joulie_pass_seconds` | histogram |  | Length. Buckets: 0.1, 1. |\n",
  );
});

/** Two published names that end like a series of a histogram. */
const exceptions = ["joulie_dvfs_above_trip_count", "joulie_dvfs_below_trip_count"];

it("Prometheus accepts every metric, and its naming rules hold", async () => {
  const definitions: MetricDefinition[] = [];
  for (const program of programs) definitions.push(...Object.values((await program.metrics?.()) ?? {}));
  for (const { name, type, help, labels } of definitions) {
    expect(name).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
    expect({ name, isCounter: name.endsWith("_total") }).toEqual({ name, isCounter: type === "counter" });
    expect({ name, isSeries: /_(bucket|sum|count)$/.test(name) }).toEqual({
      name,
      isSeries: exceptions.includes(name),
    });
    expect(help).not.toBe("");
    expect(labels.filter((label) => ["le", "quantile", "job", "instance"].includes(label))).toEqual([]);
    expect(new Set(labels).size).toBe(labels.length);
  }
});
