import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { apiVersion } from "../src/core/api/index.ts";
import { systemClock } from "../src/platform/clock/index.ts";
import { KubeClient, Reflector, resources } from "../src/platform/kube/index.ts";
import { createLogger } from "../src/platform/log/index.ts";
import { seededRandom } from "../src/platform/random/index.ts";
import { extenderPermissions } from "../src/programs/extender/permissions.ts";
import { reach } from "../test/contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../test/controlplane/harness.ts";
import { numbered } from "../test/controlplane/objects.ts";
import { quantile } from "./extender-client.ts";
import { nodeOf, twinStatusOf } from "./extender-cluster.ts";
import { ExtenderProcess } from "./extender-process.ts";
import type { Figure, Scenario } from "./scenario.ts";

const NODES = 5000;
const PODS = 2000;
const LONGEST_MS = 45_000;
const MOST_RUNS = 5;
const twins = `/apis/${apiVersion}/nodetwins`;

/** Number of runs per cell, fewer for slow cells. With whole Nodes each takes 45 s and runs once. */
interface Cell {
  readonly name: string;
  readonly extender: "none" | "stub" | "ours" | "echo" | "plain";
  readonly nodeCacheCapable?: boolean;
  /** 0: kube-scheduler's default, which at this size scores only some of the nodes. */
  readonly percentageOfNodesToScore: number;
  readonly runs: number;
}

const cells: readonly Cell[] = [0, 100].flatMap((percentageOfNodesToScore): readonly Cell[] => {
  const share = percentageOfNodesToScore === 0 ? "default" : "100 %";
  const runs = percentageOfNodesToScore === 0 ? MOST_RUNS : 3;
  const names = { nodeCacheCapable: true, percentageOfNodesToScore, runs };
  const whole = { nodeCacheCapable: false, percentageOfNodesToScore, runs: 1 };
  return [
    { name: `no extender, ${share}`, extender: "none", percentageOfNodesToScore, runs },
    { name: `stub by names, ${share}`, extender: "stub", ...names },
    { name: `ours by names, ${share}`, extender: "ours", ...names },
    { name: `echo of whole Nodes, ${share}`, extender: "echo", ...whole },
    { name: `ours with whole Nodes, ${share}`, extender: "ours", ...whole },
    { name: `plain with whole Nodes, ${share}`, extender: "plain", ...whole },
  ];
});

let plane: ControlPlane | undefined;
const extenders = new Map<string, ExtenderProcess>();

export const scenario: Scenario = {
  about: `Pods a second of a real kube-scheduler, ${NODES} nodes as kubelets report them, ${PODS} pods: without an extender, with ours, with one that does not think and with a plain one. Each run ends with the last pod bound or after ${LONGEST_MS / 1000} s; medians where there are several`,
  repeats: 1,
  measure: async () => {
    const figures: Record<string, Figure> = { "load average before": { unit: "", value: loadavg()[0] ?? Number.NaN } };
    plane = await startControlPlane();
    await populate(plane);
    const identity = await plane.identity(extenderPermissions, { name: "joulie-extender" });
    extenders.set("ours", await ExtenderProcess.ours(identity.kubeconfig));
    extenders.set("stub", await ExtenderProcess.other("scheduling-stub.ts", ["names"]));
    extenders.set("echo", await ExtenderProcess.other("scheduling-stub.ts", ["echo"]));
    extenders.set("plain", await ExtenderProcess.other("extender-plain.ts", [String(NODES)]));
    // Round-robin, so that all cells see the same machine load.
    const rates = new Map<string, number[]>(cells.map(({ name }) => [name, []]));
    for (let round = 0; round < MOST_RUNS; round++) {
      for (const cell of cells) if (round < cell.runs) rates.get(cell.name)?.push(await run(plane, cell, round));
    }
    for (const [name, values] of rates) figures[name] = { unit: "pods per s", value: quantile(values, 0.5) };
    figures["load average after"] = { unit: "", value: loadavg()[0] ?? Number.NaN };
    return figures;
  },
  goals: [
    ratio("ours by names, default", "stub by names, default", 0.9),
    ratio("ours by names, 100 %", "stub by names, 100 %", 0.9),
    ratio("ours with whole Nodes, default", "plain with whole Nodes, default", 1.2),
    ratio("ours with whole Nodes, 100 %", "plain with whole Nodes, 100 %", 1.2),
  ],
  close: async () => {
    await Promise.all(Array.from(extenders.values(), async (extender) => extender.stop()));
    await plane?.stop();
  },
};

function ratio(ours: string, theirs: string, atLeast: number) {
  return {
    says: `${ours}, against ${theirs}`,
    of: (figures: Readonly<Record<string, number>>) => (figures[ours] ?? Number.NaN) / (figures[theirs] ?? Number.NaN),
    atLeast,
  };
}

async function populate({ api }: ControlPlane): Promise<void> {
  const queue = numbered("", NODES).keys();
  const lastUpdated = new Date().toISOString();
  const worker = async () => {
    for (const index of queue) {
      const { metadata: made, spec, status: reported } = nodeOf(index);
      const { name, labels, annotations } = made;
      await api.create("/api/v1/nodes", { metadata: { name, labels, annotations }, spec, status: reported });
      const metadata = { name };
      await api.create(twins, {
        apiVersion,
        kind: "NodeTwin",
        metadata,
        spec: { nodeName: name, profile: "performance" },
      });
      // All performance: every pod may run anywhere, as with the stub.
      const status = { ...twinStatusOf(index, lastUpdated), schedulableClass: "performance" };
      await api.mergePatch(`${twins}/${name}/status`, { status });
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}

/** Pods per second, from the first to the last binding. */
async function run(control: ControlPlane, cell: Cell, round: number): Promise<number> {
  await control.schedule(false);
  const namespace = `${cell.name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/-$/, "")}-${round}`;
  await control.createPods(numbered("pod", PODS), { namespace, requests: { cpu: "1" } });
  const bound = new BoundPods(control, namespace);
  try {
    await bound.synced();
    const extender = extenders.get(cell.extender);
    await control.schedule({
      percentageOfNodesToScore: cell.percentageOfNodesToScore,
      ...(extender !== undefined && {
        extenders: [
          {
            urlPrefix: `http://127.0.0.1:${extender.port}`,
            filterVerb: "filter",
            prioritizeVerb: "prioritize",
            weight: 1,
            enableHTTPS: false,
            nodeCacheCapable: cell.nodeCacheCapable,
            ignorable: false,
            httpTimeout: "30s",
          },
        ],
      }),
    });
    return await bound.rate();
  } finally {
    await control.schedule(false);
    await bound.stop();
    const path = `/api/v1/namespaces/${namespace}/pods?gracePeriodSeconds=0`;
    await control.api.text("DELETE", path);
  }
}

/** Counts pods as they are bound. */
class BoundPods {
  readonly #transport;
  readonly #reflector: Reflector<true>;
  #first = Number.NaN;
  #last = Number.NaN;

  constructor({ admin }: ControlPlane, namespace: string) {
    this.#transport = reach(admin.server, admin.token, admin.ca);
    const base = { clock: systemClock, random: seededRandom(1) };
    this.#reflector = new Reflector({
      ...base,
      client: new KubeClient({ ...base, transport: this.#transport, fieldManager: "bench" }),
      log: createLogger({ level: "fatal", program: "bench" }),
      resource: resources.pods,
      selection: { namespace, fieldSelector: "spec.nodeName!=" },
      project: () => true,
      onChange: (changes) => {
        const now = performance.now();
        if (changes.length > 0 && Number.isNaN(this.#first)) this.#first = now;
        this.#last = now;
      },
    });
    this.#reflector.start();
  }

  async synced(): Promise<void> {
    await this.#reflector.synced(AbortSignal.timeout(30_000));
  }

  async rate(): Promise<number> {
    const deadline = performance.now() + LONGEST_MS;
    const { store } = this.#reflector;
    while (store.size < PODS && performance.now() < deadline) await sleep(50);
    return (store.size / (this.#last - this.#first)) * 1000;
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
    await this.#transport.close();
  }
}
