import { loadavg } from "node:os";
import { seededRandom } from "../src/platform/random/index.ts";
import { startCommand, startOptions } from "../src/programs/start-options.ts";
import { BenchCluster } from "./extender-api-process.ts";
import { ExtenderBenchClient, quantile } from "./extender-client.ts";
import { bodyOf } from "./extender-cluster.ts";
import { ExtenderProcess } from "./extender-process.ts";
import { memoryOf, processorSeconds } from "./operator-process.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const NODES = 5000;
const PODS = 20_000;
const WARM_UP = 200;
const PODS_ASKED = 1500;
const ORDERS = 20;
const MAX_DURATION_MS = 30_000;
const VERBS = ["filter", "prioritize"] as const;
const GOAL_MS = 5;

const p99 = (what: string) => `${what}: p99`;
const BOUND = "while 200 pods per second end and start";

export const scenario: Scenario = {
  about: `SCORING=energy with ${NODES.toLocaleString("en")} nodes and ${PODS.toLocaleString("en")} pods. One pod after the other by names over one connection, each with its own uid and order of names, filter and then prioritize, as kube-scheduler asks, of an extender in a process of its own started by ${startCommand("extender", startOptions.extender)}. Times are from the first byte sent to the last received, the client's share included`,
  repeats: 1,
  measure: async () => {
    const figures: Record<string, BenchFigure> = {
      "load average before": { unit: "", value: loadavg()[0] ?? Number.NaN },
    };
    const cluster = await BenchCluster.open(NODES, PODS);
    try {
      const headroom = await ExtenderProcess.ours(cluster.kubeconfig);
      try {
        await measure(figures, headroom, "headroom");
        figures["headroom: memory"] = { unit: "MiB", value: memoryOf(headroom.pid, "VmRSS") };
      } finally {
        await headroom.stop();
      }
      const energy = await ExtenderProcess.ours(cluster.kubeconfig, { SCORING: "energy" });
      try {
        await energy.measures("joulie_scheduler_pods", PODS);
        await measure(figures, energy, "energy");
        cluster.tell("bind");
        await measure(figures, energy, `energy, ${BOUND}`);
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
      of: (figures) => figures[p99(`energy, ${BOUND}: prioritize`)] ?? Number.NaN,
      atMost: 20,
    },
  ],
};

/** kube-scheduler checks nodes in parallel, so their order differs from pod to pod. */
function bodies(): Buffer[] {
  const random = seededRandom(1);
  const { Pod, NodeNames } = JSON.parse(bodyOf("names", NODES, "standard").toString()) as {
    Pod: object;
    NodeNames: string[];
  };
  return Array.from({ length: ORDERS }, () => {
    const names = NodeNames.map((name) => ({ name, place: random.next() }));
    names.sort((a, b) => a.place - b.place);
    return Buffer.from(JSON.stringify({ Pod, Nodes: null, NodeNames: names.map(({ name }) => name) }));
  });
}

async function measure(figures: Record<string, BenchFigure>, extender: ExtenderProcess, name: string): Promise<void> {
  const orders = bodies();
  const place = orders[0]?.indexOf("00000002-0000-4000-8000-") ?? 0;
  const client = await ExtenderBenchClient.open(extender.port);
  const times: Record<(typeof VERBS)[number], number[]> = { filter: [], prioritize: [] };
  let used = 0;
  try {
    const deadline = performance.now() + MAX_DURATION_MS;
    for (let pod = 0; pod < WARM_UP + PODS_ASKED && performance.now() < deadline; pod++) {
      const body = orders[pod % ORDERS] as Buffer;
      // Else the extender would drop its assumption about the same pod each time.
      body.write(String(pod).padStart(8, "0"), place);
      if (pod === WARM_UP) used = processorSeconds(extender.pid);
      for (const verb of VERBS) {
        const { ms, status } = await client.ask(`/${verb}`, body);
        if (status !== 200) throw new Error(`/${verb} answered ${status}`);
        if (pod >= WARM_UP) times[verb].push(ms);
      }
    }
    used = processorSeconds(extender.pid) - used;
  } finally {
    client.close();
  }
  for (const verb of VERBS) {
    figures[`${name}: ${verb}: p50`] = { unit: "ms", value: quantile(times[verb], 0.5) };
    figures[p99(`${name}: ${verb}`)] = { unit: "ms", value: quantile(times[verb], 0.99) };
    figures[`${name}: ${verb}: longest`] = { unit: "ms", value: Math.max(...times[verb]) };
  }
  figures[`${name}: processor time per pod`] = { unit: "ms", value: (1000 * used) / times.filter.length };
}
