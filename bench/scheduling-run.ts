// What bench/scheduling.ts and bench/versions.ts share: nodes and twins in a real control plane, and one run of kube-scheduler.
import { setTimeout as sleep } from "node:timers/promises";
import { apiVersion } from "../src/core/api/index.ts";
import { systemClock } from "../src/platform/clock/index.ts";
import { KubeClient, Reflector, resources } from "../src/platform/kube/index.ts";
import { createLogger } from "../src/platform/log/index.ts";
import { seededRandom } from "../src/platform/random/index.ts";
import { reach } from "../test/contract/reach.ts";
import type { ControlPlane } from "../test/controlplane/harness.ts";
import { numbered } from "../test/controlplane/objects.ts";
import { nodeOf, twinStatusOf } from "./extender-cluster.ts";

export const NODES = 5000;
export const RUN_LIMIT_MS = 45_000;
const twins = `/apis/${apiVersion}/nodetwins`;

export interface SchedulerRun {
  /** Unique per run: the namespace of its pods. */
  readonly namespace: string;
  readonly pods: number;
  /** 0: kube-scheduler's default, which at this size scores only some of the nodes. */
  readonly percentageOfNodesToScore: number;
  readonly extenderPort?: number | undefined;
  readonly nodeCacheCapable?: boolean | undefined;
}

/** Creates the Nodes as kubelets report them, and their twins. */
export async function populate({ api }: ControlPlane): Promise<void> {
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
export async function podsPerSecond(control: ControlPlane, run: SchedulerRun): Promise<number> {
  const { namespace, pods, percentageOfNodesToScore, extenderPort, nodeCacheCapable } = run;
  await control.schedule(false);
  await control.createPods(numbered("pod", pods), { namespace, requests: { cpu: "1" } });
  const bound = new BoundPods(control, namespace);
  try {
    await bound.synced();
    await control.schedule({
      percentageOfNodesToScore,
      ...(extenderPort !== undefined && {
        extenders: [
          {
            urlPrefix: `http://127.0.0.1:${extenderPort}`,
            filterVerb: "filter",
            prioritizeVerb: "prioritize",
            weight: 1,
            enableHTTPS: false,
            nodeCacheCapable,
            ignorable: false,
            httpTimeout: "30s",
          },
        ],
      }),
    });
    return await bound.rate(pods);
  } finally {
    await control.schedule(false);
    await bound.stop();
    await control.api.text("DELETE", `/api/v1/namespaces/${namespace}/pods?gracePeriodSeconds=0`);
  }
}

/** Counts pods as they are bound. */
export class BoundPods {
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

  /** Pods per second from the first to the last binding; ends with the last of `pods` or after the limit. */
  async rate(pods: number, limitMs = RUN_LIMIT_MS): Promise<number> {
    const deadline = performance.now() + limitMs;
    const { store } = this.#reflector;
    while (store.size < pods && performance.now() < deadline) await sleep(50);
    return (store.size / (this.#last - this.#first)) * 1000;
  }

  get bound(): number {
    return this.#reflector.store.size;
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
    await this.#transport.close();
  }
}
