// Compares extender bundles, interleaved in one run, so that the load of a shared machine hits all of them alike:
//   JOULIE_BUNDLES=before=../other/dist/joulie.mjs,after=dist/joulie.mjs npm run bench -- versions
import { loadavg } from "node:os";
import { resolve } from "node:path";
import { extenderPermissions } from "../src/programs/extender/permissions.ts";
import { type ControlPlane, startControlPlane } from "../test/controlplane/harness.ts";
import { ExtenderBenchClient, quantile } from "./extender-client.ts";
import { bodyOf } from "./extender-cluster.ts";
import { ExtenderProcess } from "./extender-process.ts";
import { memoryOf, processorSeconds } from "./operator-process.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";
import { NODES, podsPerSecond, populate } from "./scheduling-run.ts";

const PODS = 1000;
const ROUNDS = Number(process.env["JOULIE_ROUNDS"] ?? "4");
const BATCHES = 20;
const REQUESTS_PER_BATCH = 30;
const VERBS = ["filter", "prioritize"] as const;
const MODES = ["names", "whole Nodes"] as const;

const bundles = (process.env["JOULIE_BUNDLES"] ?? "this=dist/joulie.mjs").split(",").map((pair) => {
  const [name = "", path = ""] = pair.split("=");
  return { name, path: resolve(path) };
});

let plane: ControlPlane | undefined;
const extenders = new Map<string, ExtenderProcess>();
const samples = new Map<string, { readonly unit: string; readonly values: number[] }>();
const costs = new Map<string, { readonly seconds: number; readonly requests: number }>();

export const scenario: Scenario = {
  about: `Extender bundles of JOULIE_BUNDLES in turn under one real kube-scheduler, ${NODES} nodes by names, ${PODS} pods, ${ROUNDS} rounds: pods per second, medians; the extender's processor time per request. Then requests over HTTP in turn, client included`,
  repeats: 1,
  measure: async () => {
    const figures: Record<string, BenchFigure> = {
      "load average before": { unit: "", value: loadavg()[0] ?? Number.NaN },
    };
    plane = await startControlPlane();
    await populate(plane);
    const identity = await plane.identity(extenderPermissions, { name: "joulie-extender" });
    for (const { name, path } of bundles) extenders.set(name, await ExtenderProcess.bundled(path, identity.kubeconfig));
    for (const mode of MODES) await askInTurn(mode);
    for (let round = 0; round < ROUNDS; round++) {
      for (const percentage of [0, 100]) for (const { name } of bundles) await schedule(plane, name, percentage, round);
    }
    for (const [name, { unit, values }] of samples) {
      figures[`${name}: p50`] = { unit, value: quantile(values, 0.5) };
      if (unit === "ms") figures[`${name}: p99`] = { unit, value: quantile(values, 0.99) };
      else process.stderr.write(`${name}: ${values.map((value) => value.toFixed(1)).join(" ")}\n`);
    }
    for (const [name, { seconds, requests }] of costs) {
      figures[name] = { unit: "ms per request", value: (seconds * 1000) / requests };
    }
    for (const [name, { pid }] of extenders) {
      figures[`${name}: highest memory`] = { unit: "MiB", value: memoryOf(pid, "VmHWM") };
    }
    figures["load average after"] = { unit: "", value: loadavg()[0] ?? Number.NaN };
    return figures;
  },
  goals: [],
  close: async () => {
    await Promise.all(Array.from(extenders.values(), async (extender) => extender.stop()));
    await plane?.stop();
  },
};

function add(name: string, unit: string, value: number): void {
  let sample = samples.get(name);
  if (sample === undefined) samples.set(name, (sample = { unit, values: [] }));
  sample.values.push(value);
}

/** The kernel counts processor time in hundredths of a second, so only sums over many requests are exact enough. */
function cost(name: string, seconds: number, requests: number): void {
  const sum = costs.get(name) ?? { seconds: 0, requests: 0 };
  costs.set(name, { seconds: sum.seconds + seconds, requests: sum.requests + requests });
}

async function schedule(control: ControlPlane, name: string, percentage: number, round: number): Promise<void> {
  const extender = extenders.get(name);
  if (extender === undefined) return;
  const share = percentage === 0 ? "default" : "100 %";
  const before = processorSeconds(extender.pid);
  const durationsBefore = await durations(extender.metricsPort);
  const rate = await podsPerSecond(control, {
    namespace: `${name}-${percentage}-${round}`,
    pods: PODS,
    percentageOfNodesToScore: percentage,
    extenderPort: extender.port,
    nodeCacheCapable: true,
  });
  add(`${name}, kube-scheduler, ${share}`, "pods per s", rate);
  const durationsAfter = await durations(extender.metricsPort);
  const count = (buckets: Buckets) => buckets.get(Infinity) ?? 0;
  const requests = VERBS.reduce((sum, verb) => sum + count(durationsAfter[verb]) - count(durationsBefore[verb]), 0);
  cost(`${name}, kube-scheduler, ${share}, processor time`, processorSeconds(extender.pid) - before, requests);
  for (const verb of VERBS) {
    const p99 = quantileBetween(durationsBefore[verb], durationsAfter[verb], 0.99);
    add(`${name}, kube-scheduler, ${share}, p99 of ${verb} by the histogram`, "ms per request", p99 * 1000);
  }
}

type Buckets = ReadonlyMap<number, number>;

/** The cumulative buckets of the extender's histograms, over all workload classes. */
async function durations(port: number): Promise<Record<(typeof VERBS)[number], Buckets>> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const read = (verb: string): Buckets => {
    const buckets = new Map<number, number>();
    const line = new RegExp(`^joulie_scheduler_${verb}_duration_seconds_bucket\\{.*?le="(.*?)".*?\\} (.*)$`, "gm");
    for (const [, le = "", count] of text.matchAll(line)) {
      const limit = le === "+Inf" ? Infinity : Number(le);
      buckets.set(limit, (buckets.get(limit) ?? 0) + Number(count));
    }
    return buckets;
  };
  return { filter: read("filter"), prioritize: read("prioritize") };
}

/** Linear interpolation within the bucket, as Prometheus' histogram_quantile does. */
function quantileBetween(before: Buckets, after: Buckets, share: number): number {
  const counts = Array.from(after, ([limit, count]) => [limit, count - (before.get(limit) ?? 0)] as const);
  const rank = share * (counts.at(-1)?.[1] ?? Number.NaN);
  let [low, below] = [0, 0];
  for (const [limit, count] of counts) {
    if (count >= rank) return limit === Infinity ? low : low + ((limit - low) * (rank - below)) / (count - below);
    [low, below] = [limit, count];
  }
  return Number.NaN;
}

async function askInTurn(mode: (typeof MODES)[number]): Promise<void> {
  const body = bodyOf(mode, NODES, "performance");
  const requests = mode === "names" ? REQUESTS_PER_BATCH : 2;
  for (let batch = 0; batch < BATCHES; batch++) {
    for (const [name, { port, pid }] of extenders) {
      const client = await ExtenderBenchClient.open(port);
      const before = processorSeconds(pid);
      for (const verb of VERBS) {
        for (let i = 0; i < requests; i++) {
          const { ms } = await client.ask(`/${verb}`, body);
          // The first batches warm up.
          if (batch >= BATCHES / 4) add(`${name}, ${mode}, ${verb}`, "ms", ms);
        }
      }
      client.close();
      const used = processorSeconds(pid) - before;
      if (batch >= BATCHES / 4) cost(`${name}, ${mode}, processor time`, used, requests * VERBS.length);
    }
  }
}
