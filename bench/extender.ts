import { fork } from "node:child_process";
import { loadavg } from "node:os";
import { join } from "node:path";
import { startCommand, startOptions } from "../src/programs/start-options.ts";
import { BenchCluster } from "./extender-api-process.ts";
import { ask, ExtenderBenchClient, quantile } from "./extender-client.ts";
import { bodyOf, ChangingBody, type Mode } from "./extender-cluster.ts";
import { ExtenderProcess } from "./extender-process.ts";
import { memoryOf, processorSeconds } from "./operator-process.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const SIZES = [500, 2500, 5000] as const;
const MODES: readonly Mode[] = ["names", "whole Nodes"];
const VERBS = ["filter", "prioritize"] as const;
/** Enough for a 99th percentile where requests are short, and bounded where they are long. */
const REQUESTS = { names: 600, "whole Nodes": 40 } as const;
const WARM_UP = { names: 200, "whole Nodes": 5 } as const;
const LARGEST = 5000;

const shown = (size: number) => size.toLocaleString("en");
const cell = (who: string, size: number, mode: Mode, verb: string) => `${who}: ${shown(size)} ${mode}, ${verb}`;

export const scenario: Scenario = {
  about: `One pod after the other over one connection, as kube-scheduler asks, of an extender in a process of its own started by ${startCommand("extender", startOptions.extender)}; against the plain way (JSON.parse, the literal formula, JSON.stringify) in the same run. Times are from the first byte sent to the last received, the client's share included`,
  repeats: 1,
  measure: async () => {
    const figures: Record<string, BenchFigure> = {
      "load average before": { unit: "", value: loadavg()[0] ?? Number.NaN },
    };
    for (const size of SIZES) {
      const cluster = await BenchCluster.open(size);
      try {
        const ours = await ExtenderProcess.ours(cluster.kubeconfig);
        try {
          figures[`ours: ${shown(size)} nodes known, memory`] = { unit: "MiB", value: memoryOf(ours.pid, "VmRSS") };
          for (const mode of MODES) await askAll(figures, "ours", ours, size, mode);
          if (size === LARGEST) await changing(figures, ours);
          figures[`ours: ${shown(size)}, highest memory`] = { unit: "MiB", value: memoryOf(ours.pid, "VmHWM") };
          if (size === LARGEST) await disturbed(figures, ours, cluster);
        } finally {
          await ours.stop();
        }
        const plain = await ExtenderProcess.other("extender-plain.ts", [String(size)]);
        try {
          for (const mode of MODES) await askAll(figures, "plain", plain, size, mode);
          figures[`plain: ${shown(size)}, highest memory`] = { unit: "MiB", value: memoryOf(plain.pid, "VmHWM") };
        } finally {
          await plain.stop();
        }
      } finally {
        await cluster.close();
      }
    }
    figures["load average after"] = { unit: "", value: loadavg()[0] ?? Number.NaN };
    return figures;
  },
  goals: [
    ...VERBS.map((verb) => ({
      says: `p99 of ${verb} by names at 5,000, ms`,
      of: of(`${cell("ours", LARGEST, "names", verb)}: p99`),
      atMost: 5,
    })),
    ...VERBS.map((verb) => ({
      says: `p50 of ${verb} with whole Nodes at 5,000, ms`,
      of: of(`${cell("ours", LARGEST, "whole Nodes", verb)}: p50`),
      atMost: 100,
    })),
    {
      says: "p50 of filter with whole Nodes at 5,000, all of them changed, ms",
      of: of(`${cell("ours", LARGEST, "whole Nodes", "filter")}, all of them changed: p50`),
      atMost: 100,
    },
    { says: "highest memory at 5,000 with whole Nodes, MiB", of: of("ours: 5,000, highest memory"), atMost: 238 },
    ...VERBS.map((verb) => ({
      says: `times the plain way's speed, ${verb} with whole Nodes at 5,000`,
      of: (figures: Readonly<Record<string, number>>) =>
        of(`${cell("plain", LARGEST, "whole Nodes", verb)}: p50`)(figures) /
        of(`${cell("ours", LARGEST, "whole Nodes", verb)}: p50`)(figures),
      atLeast: 1.5,
    })),
    {
      says: "p99 of prioritize by names while every twin changes, ms",
      of: of("ours: 5,000 names, prioritize while twins change: p99"),
      atMost: 20,
    },
    {
      says: "p99 of prioritize by names while /metrics is scraped, ms",
      of: of("ours: 5,000 names, prioritize while scraped: p99"),
      atMost: 20,
    },
  ],
};

function of(figure: string) {
  return (figures: Readonly<Record<string, number>>): number => figures[figure] ?? Number.NaN;
}

async function askAll(
  figures: Record<string, BenchFigure>,
  who: string,
  extender: ExtenderProcess,
  size: number,
  mode: Mode,
): Promise<void> {
  const body = bodyOf(mode, size, "performance");
  for (const verb of VERBS) {
    const name = cell(who, size, mode, verb);
    const client = await ExtenderBenchClient.open(extender.port);
    try {
      await ask(client, verb, body, WARM_UP[mode]);
      const before = processorSeconds(extender.pid);
      const begun = performance.now();
      const times = await ask(client, verb, body, REQUESTS[mode]);
      const took = (performance.now() - begun) / 1000;
      figures[`${name}: p50`] = { unit: "ms", value: quantile(times, 0.5) };
      // With forty requests the 99th percentile would be the maximum.
      if (mode === "names") figures[`${name}: p99`] = { unit: "ms", value: quantile(times, 0.99) };
      else figures[`${name}: longest`] = { unit: "ms", value: Math.max(...times) };
      figures[`${name}: rate`] = { unit: "per s", value: times.length / took };
      figures[`${name}: processor`] = {
        unit: "ms",
        value: ((processorSeconds(extender.pid) - before) / times.length) * 1000,
      };
    } finally {
      client.close();
    }
  }
}

/** Known Nodes are only compared. Measures the cost when some or all of them are new to the extender. */
async function changing(figures: Record<string, BenchFigure>, extender: ExtenderProcess): Promise<void> {
  const body = new ChangingBody(bodyOf("whole Nodes", LARGEST, "performance"));
  const client = await ExtenderBenchClient.open(extender.port);
  try {
    for (const [name, share] of [
      ["1 % of them changed", 0.01],
      ["all of them changed", 1],
    ] as const) {
      const times = await ask(client, "filter", body.bytes, REQUESTS["whole Nodes"], () => body.change(share));
      figures[`${cell("ours", LARGEST, "whole Nodes", "filter")}, ${name}: p50`] = {
        unit: "ms",
        value: quantile(times, 0.5),
      };
    }
  } finally {
    client.close();
  }
}

/** The same requests while other work competes for the extender's thread. */
async function disturbed(
  figures: Record<string, BenchFigure>,
  extender: ExtenderProcess,
  cluster: BenchCluster,
): Promise<void> {
  const body = bodyOf("names", LARGEST, "performance");
  const client = await ExtenderBenchClient.open(extender.port);
  const during = async (name: string) => {
    const times = await ask(client, "prioritize", body, 1000);
    figures[`ours: 5,000 names, prioritize ${name}: p99`] = { unit: "ms", value: quantile(times, 0.99) };
    figures[`ours: 5,000 names, prioritize ${name}: longest`] = { unit: "ms", value: Math.max(...times) };
  };
  try {
    cluster.tell("change");
    await during("while twins change");
    cluster.tell("rest");
    const scraper = fork(join(import.meta.dirname, "extender-scraper.ts"), [String(extender.metricsPort)]);
    try {
      await during("while scraped");
    } finally {
      scraper.kill();
    }
  } finally {
    client.close();
  }
}
