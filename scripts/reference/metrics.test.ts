import { expect, it } from "vitest";
import { metric } from "../../src/platform/metrics/index.ts";
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

it("Prometheus accepts every metric, and its naming rules hold", async () => {
  const published = ["joulie_dvfs_above_trip_count", "joulie_dvfs_below_trip_count"];
  for (const { metrics } of programs)
    for (const { name, type, help, labels } of Object.values((await metrics?.()) ?? {})) {
      expect(name).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
      expect({ name, isCounter: name.endsWith("_total") }).toEqual({ name, isCounter: type === "counter" });
      if (!published.includes(name)) expect(name).not.toMatch(/_(bucket|sum|count)$/);
      expect(help).not.toBe("");
      expect(labels.filter((label) => ["le", "quantile", "job", "instance"].includes(label))).toEqual([]);
      expect(new Set(labels).size).toBe(labels.length);
    }
});
