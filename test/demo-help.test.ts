import { expect, it } from "vitest";
import { initialTop, topFrame } from "../src/programs/console/top/top-view.ts";
import { explanationOf, pagesOf } from "../src/programs/demo/welcome-text.ts";

it("X-166 the help of the demo's view fits a terminal of 80 by 24 with all addresses", () => {
  const at = (port: number) => `http://127.0.0.1:${port}`;
  const ports = { operator: 1, agent: 2, extender: 3, extenderMetrics: 4, power: 5 };
  const programs = { ports, simulator: { url: at(6), metricsUrl: at(7) }, dashboard: at(8) };
  const cluster = { server: at(1), kubeconfig: "/tmp/kubeconfig" };
  const pages = pagesOf(cluster, programs, "/tmp/programs.log");
  const lines = topFrame({
    nodes: [],
    history: new Map(),
    state: initialTop({ help: true }),
    help: explanationOf(pages),
    screen: { columns: 80, colour: false },
    rows: 24,
    error: undefined,
    notListed: [],
    pending: [],
    age: undefined,
  });
  expect(lines.join("\n")).toContain("/tmp/programs.log");
  expect(lines.filter((line) => line.includes("…") && !line.startsWith("metrics"))).toEqual([]);
});
