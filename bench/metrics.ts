import { Gauge, Registry } from "prom-client";
import { systemClock } from "../src/platform/clock/index.ts";
import { metric, type NodeRow, ProgramMetrics } from "../src/platform/metrics/index.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const NODES = 5000;
const SERIES = 8;
const SCRAPES = 5;

const names = Array.from({ length: NODES }, (_, index) => `node-${index}.rack-${index % 40}.example`);
const definitions = Array.from({ length: SERIES }, (_, index) =>
  metric({
    name: `joulie_example_${index}_watts`,
    help: "A figure about a node.",
    type: "gauge",
    labels: ["node", "profile"],
  }),
);
/** Watts with two decimals that differ at every scrape, so that caching does not help. */
const valueAt = (node: number, series: number, scrape: number) =>
  ((node * 7919 + series * 104_729 + scrape * 31) % 500_000) / 100;

const registry = new Registry();
const gauges = definitions.map(
  ({ name, help, labels }) => new Gauge({ name, help, labelNames: [...labels], registers: [registry] }),
);

const ours = new ProgramMetrics(systemClock);
const rows: readonly NodeRow[] = names.map((name) => ours.nodes.join(name));
const columns = definitions.map((definition) => ours.nodes.gauge(definition).column({ profile: "eco" }));

let scrape = 0;
function measureNodes(): void {
  scrape++;
  for (let series = 0; series < SERIES; series++) {
    for (let node = 0; node < NODES; node++) {
      const value = valueAt(node, series, scrape);
      gauges[series]?.set({ node: names[node] ?? "", profile: "eco" }, value);
      const row = rows[node];
      if (row !== undefined) columns[series]?.set(row, value);
    }
  }
}

/** As bytes, because a scrape sends bytes. */
async function byPromClient(): Promise<number> {
  return Buffer.from(await registry.metrics()).length;
}

async function byNodeTable(): Promise<number> {
  let bytes = 0;
  for await (const piece of ours.text()) bytes += Buffer.from(piece).length;
  return bytes;
}

interface Scrape {
  readonly took: number;
  readonly cpu: number;
  /** Longest time the event loop was blocked, in milliseconds. */
  readonly block: number;
}

async function scraped(work: () => Promise<number>): Promise<Scrape> {
  const start = performance.now();
  const before = process.threadCpuUsage();
  const bytes = await work();
  const { user, system } = process.threadCpuUsage(before);
  const took = performance.now() - start;
  if (bytes < NODES * SERIES * 40) throw new Error(`a scrape of ${bytes} bytes has not all series`);
  measureNodes();
  return { took, cpu: (user + system) / 1000, block: await maxBlock(work) };
}

/** In a separate scrape, because probing the event loop costs time. */
async function maxBlock(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let turn = performance.now();
  let over = false;
  const takeTurn = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - turn);
    turn = now;
    if (!over) setImmediate(takeTurn);
  };
  takeTurn();
  await work();
  over = true;
  await new Promise(setImmediate);
  return longest;
}

/** The median of several scrapes, because other programs use the machine as well. */
async function scrapes(work: () => Promise<number>): Promise<Record<keyof Scrape, BenchFigure>> {
  const all: Scrape[] = [];
  for (let turn = 0; turn < SCRAPES; turn++) {
    measureNodes();
    all.push(await scraped(work));
  }
  const middle = (which: keyof Scrape): BenchFigure => ({
    unit: "ms",
    value: all.map((scrape) => scrape[which]).toSorted((a, b) => a - b)[Math.floor(SCRAPES / 2)] ?? Number.NaN,
  });
  return { took: middle("took"), cpu: middle("cpu"), block: middle("block") };
}

export const scenario: Scenario = {
  about: `A scrape of ${NODES} nodes with ${SERIES} series each, to bytes; every value is new. A block is the longest time the event loop is blocked`,
  repeats: 7,
  measure: async () => {
    const promClient = await scrapes(byPromClient);
    const nodeTable = await scrapes(byNodeTable);
    return {
      "prom-client, scrape": promClient.took,
      "NodeTable, scrape": nodeTable.took,
      "prom-client, longest block": promClient.block,
      "NodeTable, longest block": nodeTable.block,
      "prom-client, CPU": promClient.cpu,
      "NodeTable, CPU": nodeTable.cpu,
    };
  },
  goals: [
    {
      // CPU time: pauses and blocks depend on the load of the machine.
      says: "prom-client / NodeTable, CPU of a scrape",
      of: ({ "prom-client, CPU": theirs = Number.NaN, "NodeTable, CPU": ours = Number.NaN }) => theirs / ours,
      atLeast: 5,
    },
  ],
};
