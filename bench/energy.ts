import { loadavg } from "node:os";
import { startCommand, startOptions } from "../src/programs/start-options.ts";
import { BenchCluster } from "./extender-api-process.ts";
import { ask, ExtenderBenchClient, quantile } from "./extender-client.ts";
import { bodyOf } from "./extender-cluster.ts";
import { ExtenderProcess } from "./extender-process.ts";
import { memoryOf } from "./operator-process.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const NODES = 5000;
const PODS = 20_000;
const WARM_UP = 200;
const REQUESTS = 1500;
const VERBS = ["filter", "prioritize"] as const;
const GOAL_MS = 5;

const p99 = (what: string) => `${what}: p99`;
const BOUND = "prioritize while 200 pods per second end and start";

export const scenario: Scenario = {
  about: `SCORING=energy with ${NODES.toLocaleString("en")} nodes and ${PODS.toLocaleString("en")} pods. One pod after the other by names over one connection, each with its own uid, as kube-scheduler asks, of an extender in a process of its own started by ${startCommand("extender", startOptions.extender)}. Times are from the first byte sent to the last received, the client's share included`,
  repeats: 1,
  measure: async () => {
    const figures: Record<string, BenchFigure> = {
      "load average before": { unit: "", value: loadavg()[0] ?? Number.NaN },
    };
    const cluster = await BenchCluster.open(NODES, PODS);
    try {
      const headroom = await ExtenderProcess.ours(cluster.kubeconfig);
      try {
        await measure(figures, headroom, "prioritize", "headroom: prioritize");
        figures["headroom: memory"] = { unit: "MiB", value: memoryOf(headroom.pid, "VmRSS") };
      } finally {
        await headroom.stop();
      }
      const energy = await ExtenderProcess.ours(cluster.kubeconfig, { SCORING: "energy" });
      try {
        await energy.measures("joulie_scheduler_pods", PODS);
        for (const verb of VERBS) await measure(figures, energy, verb, `energy: ${verb}`);
        cluster.tell("bind");
        await measure(figures, energy, "prioritize", `energy: ${BOUND}`);
        cluster.tell("rest");
        figures["energy: memory"] = { unit: "MiB", value: memoryOf(energy.pid, "VmRSS") };
        figures["energy: highest memory"] = { unit: "MiB", value: memoryOf(energy.pid, "VmHWM") };
      } finally {
        await energy.stop();
      }
    } finally {
      await cluster.close();
    }
    figures["load average after"] = { unit: "", value: loadavg()[0] ?? Number.NaN };
    return figures;
  },
  goals: [
    ...VERBS.map((verb) => ({
      says: `p99 of ${verb} by names, ms`,
      of: (figures: Readonly<Record<string, number>>) => figures[p99(`energy: ${verb}`)] ?? Number.NaN,
      atMost: GOAL_MS,
    })),
    {
      says: "p99 of prioritize by names while pods end and start, ms",
      of: (figures) => figures[p99(`energy: ${BOUND}`)] ?? Number.NaN,
      atMost: 20,
    },
  ],
};

async function measure(
  figures: Record<string, BenchFigure>,
  extender: ExtenderProcess,
  verb: (typeof VERBS)[number],
  name: string,
): Promise<void> {
  const body = bodyOf("names", NODES, "standard");
  const place = body.indexOf("00000002-0000-4000-8000-");
  let uid = 0;
  // Else the extender would drop its assumption about the same pod each time.
  const nextPod = () => body.write(String(uid++).padStart(8, "0"), place);
  const client = await ExtenderBenchClient.open(extender.port);
  try {
    await ask(client, verb, body, WARM_UP, nextPod);
    const times = await ask(client, verb, body, REQUESTS, nextPod);
    figures[`${name}: p50`] = { unit: "ms", value: quantile(times, 0.5) };
    figures[p99(name)] = { unit: "ms", value: quantile(times, 0.99) };
    figures[`${name}: longest`] = { unit: "ms", value: Math.max(...times) };
  } finally {
    client.close();
  }
}
