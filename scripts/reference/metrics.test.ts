import { expect, it } from "vitest";
import { metric } from "../../src/platform/metrics/index.ts";
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
