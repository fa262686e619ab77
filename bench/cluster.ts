import { loadavg } from "node:os";
import { startOptions } from "../src/programs/start-options.ts";
import { bundled } from "./agent-process.ts";
import { measureCluster } from "./cluster-run.ts";
import { comparisonTable } from "./cluster-table.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

/** JOULIE_BENCH_NODES: a smaller cluster, while developing. */
const NODES = Number(process.env["JOULIE_BENCH_NODES"] ?? 5000);
const FEW = Math.round(NODES / 10);
const roles = ["joulie-operator", "joulie-extender", "joulie-agent-pool"];

let removeBundle = (): void => undefined;

export const scenario: Scenario = {
  about: `Joulie as the chart installs it (2 operators, 2 extenders, pool agents, one node agent; each under its own role) on a real control plane with ${NODES} nodes and ${NODES * 4} pods, and with ${FEW}; operator with ${startOptions.operator.node.join(" ")}; once, because it takes minutes`,
  repeats: 1,
  measure: async () => {
    const before = loadavg()[0] ?? Number.NaN;
    // The exit event ends the programs, which a signal alone would not.
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
    const { program, remove } = await bundled();
    removeBundle = remove;
    const figures: Record<string, BenchFigure> = {};
    for (const nodes of [NODES, FEW]) {
      const measured = await measureCluster(nodes, program);
      // A bench of many minutes shows what it has.
      for (const [name, { value, unit }] of Object.entries(measured)) console.error(`${name}: ${value} ${unit}`);
      Object.assign(figures, measured);
    }
    figures["load average before"] = { unit: "", value: before };
    figures["load average after"] = { unit: "", value: loadavg()[0] ?? Number.NaN };
    return figures;
  },
  goals: [
    { says: "requests at rest per second", of: of(`${NODES} nodes at rest: Joulie's requests`), atMost: 35 },
    { says: "LISTs at rest", of: of(`${NODES} nodes at rest: Joulie's LISTs`), atMost: 0 },
    {
      says: "operator's heartbeats per second and 5,000 nodes, which agents carry",
      of: (figures) => (of(`${NODES} nodes at rest: operator's heartbeats`)(figures) * 5000) / NODES,
      atMost: 1,
    },
    {
      says: `processor at rest, ${NODES} nodes against ${FEW}`,
      of: (figures) => processor(figures, NODES) / processor(figures, FEW),
      atMost: 11,
    },
  ],
  document: (figures) => comparisonTable(figures, [FEW, NODES]),
  close: () => removeBundle(),
};

function of(figure: string) {
  return (figures: Readonly<Record<string, number>>): number => figures[figure] ?? Number.NaN;
}

const processor = (figures: Readonly<Record<string, number>>, nodes: number): number =>
  roles.reduce((sum, role) => sum + of(`${nodes} nodes at rest: processor of ${role}`)(figures), 0);
