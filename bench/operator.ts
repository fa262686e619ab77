import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { apiVersion, labels } from "../src/core/api/index.ts";
import { operatorPermissions } from "../src/programs/operator/permissions.ts";
import { startOptions } from "../src/programs/start-options.ts";
import { type ControlPlane, startControlPlane } from "../test/controlplane/harness.ts";
import { numbered } from "../test/controlplane/objects.ts";
import { memoryOf, type OperatorMessage, OperatorProcess, processorSeconds } from "./operator-process.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const NODES = 5000;
const PODS = 20_000;
/** One node in a hundred. */
const CHANGED = NODES / 100;
const INTERVAL_MS = 5000;
const PASSES = 6;
const PATIENCE_MS = 600_000;
/** The metrics page is long: more frequent scrapes would affect the measurement. */
const LOOK_AGAIN_MS = 2000;
const twins = `/apis/${apiVersion}/nodetwins`;
const density = "joulie.io/hw.cpu-cores";

let plane: ControlPlane | undefined;
let operator: OperatorProcess | undefined;

/** Resources used over a period. */
interface Spent {
  readonly passes: number;
  readonly writes: number;
  readonly heartbeats: number;
  readonly reads: number;
  readonly ours: number;
  readonly apiserver: number;
}

export const scenario: Scenario = {
  about: `The operator, in a process of its own from source, on a real control plane with ${NODES} nodes and ${PODS} pods; with ${startOptions.operator.node.join(" ")}; once, because it takes minutes`,
  repeats: 1,
  measure: async () => {
    plane = await startControlPlane();
    const [loadBefore = Number.NaN] = loadavg();
    const nodes = numbered("node", NODES);
    await plane.createNodes(nodes, (_, index) => ({
      labels: { [labels.managed]: "true", [labels.rack]: `rack-${index % 100}` },
      capacity: { cpu: "64", memory: "256Gi" },
    }));
    await plane.createPods(numbered("pod", PODS), (_, index) => ({
      ...(index % 10 === 0 && { annotations: { "joulie.io/workload-class": "performance" } }),
      requests: { cpu: "4", memory: "8Gi" },
      spec: { nodeName: nodes[(index * 7) % NODES] },
    }));
    const figures: Record<string, BenchFigure> = {};
    const identity = await plane.identity(operatorPermissions("joulie-system"), { name: "joulie-operator" });
    const own = await runCold(figures, plane, identity.kubeconfig);
    operator = own;

    const control = plane;
    const intervals = async (change: (round: number) => Promise<void> = async () => undefined) =>
      spend(own, control, async () => {
        const begun = performance.now();
        for (let round = 0; round < PASSES; round++) {
          await change(round);
          await sleep(Math.max(0, begun + (round + 1) * INTERVAL_MS - performance.now()));
        }
      });
    per(figures, "nothing changed", await intervals(), 0);
    figures["memory, steady"] = { unit: "MiB", value: memoryOf(own.pid, "VmRSS") };
    // Two more cores than the others: little power, but first in the order. As many nodes are demoted as promoted,
    // over several passes that do not wait for the interval.
    const moved = await spend(own, control, async () => {
      await Promise.all(
        nodes.slice(-CHANGED / 2).map(async (node) => {
          const patch = { metadata: { labels: { [density]: "66" } } };
          await control.api.mergePatch(`/api/v1/nodes/${node}`, patch);
        }),
      );
      await untilQuiet(own);
    });
    per(figures, "1 % with another profile", moved, CHANGED);
    // Last, because node trends keep changing for five minutes and would count in the next measurement.
    const before = await versions(control);
    const powered = await intervals(async (round) =>
      control.createPods(numbered(`more-${round}`, CHANGED), (_, index) => ({
        requests: { cpu: "20" },
        spec: { nodeName: nodes[(round * CHANGED + index) % NODES] },
      })),
    );
    per(figures, "1 % with another power", powered, PASSES * CHANGED);
    const after = await versions(control);
    const touched = nodes.filter((node) => before.get(node) !== after.get(node)).length;
    figures["1 % with another power: twins written per changed node"] = {
      unit: "",
      value: touched / (PASSES * CHANGED),
    };
    figures["memory, highest"] = { unit: "MiB", value: memoryOf(own.pid, "VmHWM") };
    figures["load average before"] = { unit: "", value: loadBefore };
    figures["load average after"] = { unit: "", value: loadavg()[0] ?? Number.NaN };
    return figures;
  },
  goals: [
    { says: "cold start, s", of: of("cold start to all twins published"), atMost: 60 },
    { says: "API reads per steady pass", of: of("nothing changed: API reads per pass"), atMost: 0 },
    { says: "writes per steady pass", of: of("nothing changed: writes per pass"), atMost: 0 },
    // The step itself, and one more write within the half minute for the trend, which is published when it changes by
    // 5 W/min.
    {
      says: "writes per node with another power, its trend included",
      of: of("1 % with another power: writes per changed node"),
      atMost: 2,
    },
    {
      says: "twins written per node with another power",
      of: of("1 % with another power: twins written per changed node"),
      atMost: 1,
    },
    // Promotion: spec, status, labels. Demotion: status, labels, spec; in a later pass status and spec for the eco
    // caps.
    {
      says: "writes per node with another profile",
      of: of("1 % with another profile: writes per changed node"),
      atMost: 6,
    },
    { says: "processor seconds per steady pass", of: of("nothing changed: processor per pass"), atMost: 0.3 },
    { says: "memory, MiB", of: of("memory, steady"), atMost: 286 },
  ],
  close: async () => {
    await operator?.stop();
    await plane?.stop();
  },
};

/** Resource versions of all twins, by node. */
async function versions(control: ControlPlane): Promise<ReadonlyMap<string, string>> {
  const { items } = await control.api.get<{ items: { metadata: { name: string; resourceVersion: string } }[] }>(twins);
  return new Map(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

function of(figure: string) {
  return (figures: Readonly<Record<string, number>>): number => figures[figure] ?? Number.NaN;
}

/** From an empty cluster to all twins published, and on to the last eco cap. */
async function runCold(figures: Record<string, BenchFigure>, control: ControlPlane, kubeconfig: string) {
  const begun = performance.now();
  const apiserver = control.apiserver.pid ?? Number.NaN;
  const before = processorSeconds(apiserver);
  const own = await OperatorProcess.start({
    KUBECONFIG: kubeconfig,
    RECONCILE_INTERVAL: `${INTERVAL_MS / 1000}s`,
    // No heartbeat is due during the run; heartbeats are measured separately.
    TWIN_HEARTBEAT: "1h",
    TWIN_STALENESS_THRESHOLD: "2h",
  });
  try {
    const since = () => (performance.now() - begun) / 1000;
    await until(own, ({ writes }) => (writes["status"] ?? 0) >= NODES && (writes["labels"] ?? 0) >= NODES);
    figures["cold start to all twins published"] = { unit: "s", value: since() };
    figures["cold start: processor"] = { unit: "s", value: processorSeconds(own.pid) };
    figures["cold start: processor of the API server"] = { unit: "s", value: processorSeconds(apiserver) - before };
    await untilQuiet(own);
    const { items } = await control.api.get<{ items: { status?: { schedulableClass?: string } }[] }>(twins);
    const shown = items.filter(({ status }) => status?.schedulableClass !== undefined).length;
    if (shown !== NODES) throw new Error(`${shown} of ${NODES} twins are published`);
    figures["cold start: writes"] = { unit: "", value: sum((await told(own)).writes) };
    return own;
  } catch (error) {
    await own.stop();
    throw error;
  }
}

/** Resources that only the operator reads; the bench only writes them. The server reads leases as well. */
const READ = new Set(["nodes", "pods", "nodetwins", "nodehardwares", "nodepowerprofiles"]);

async function spend(own: OperatorProcess, control: ControlPlane, work: () => Promise<void>): Promise<Spent> {
  const server = control.apiserver.pid ?? Number.NaN;
  const before = await told(own);
  let [ours, apiserver] = [Number.NaN, Number.NaN];
  const requests = await control.requestsDuring(async () => {
    const [oursBefore, theirsBefore] = [processorSeconds(own.pid), processorSeconds(server)];
    await work();
    [ours, apiserver] = [processorSeconds(own.pid) - oursBefore, processorSeconds(server) - theirsBefore];
  });
  const after = await told(own);
  const heartbeats = (after.writes["heartbeat"] ?? 0) - (before.writes["heartbeat"] ?? 0);
  return {
    ours,
    apiserver,
    heartbeats,
    passes: after.passes - before.passes,
    writes: sum(after.writes) - sum(before.writes) - heartbeats,
    reads: requests
      .filter(
        ({ verb, group, resource }) => /^(GET|LIST)$/.test(verb) && group !== "metrics.k8s.io" && READ.has(resource),
      )
      .reduce((total, { count }) => total + count, 0),
  };
}

function per(figures: Record<string, BenchFigure>, name: string, spent: Spent, changed: number): void {
  const { passes } = spent;
  figures[`${name}: passes`] = { unit: "", value: passes };
  figures[`${name}: writes per pass`] = { unit: "", value: spent.writes / passes };
  if (changed > 0) figures[`${name}: writes per changed node`] = { unit: "", value: spent.writes / changed };
  figures[`${name}: heartbeats per pass`] = { unit: "", value: spent.heartbeats / passes };
  figures[`${name}: API reads per pass`] = { unit: "", value: spent.reads / passes };
  figures[`${name}: processor per pass`] = { unit: "s", value: spent.ours / passes };
  figures[`${name}: processor of the API server per pass`] = { unit: "s", value: spent.apiserver / passes };
}

/** Waits for two passes without writes. */
async function untilQuiet(own: OperatorProcess): Promise<void> {
  let last = "";
  let quietSince = 0;
  await until(own, ({ writes, passes }) => {
    const now = JSON.stringify(writes);
    if (now !== last) [last, quietSince] = [now, passes];
    return passes - quietSince >= 2;
  });
}

async function until(own: OperatorProcess, reached: (told: OperatorMessage) => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const now = await own.told();
    if (now !== undefined && reached(now)) return;
    if (performance.now() > deadline) throw new Error(`not reached in ${PATIENCE_MS / 1000} s: ${JSON.stringify(now)}`);
    await sleep(LOOK_AGAIN_MS);
  }
}

async function told(own: OperatorProcess): Promise<OperatorMessage> {
  const now = await own.told();
  if (now === undefined) throw new Error("the operator does not serve");
  return now;
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);
