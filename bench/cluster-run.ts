// One cluster of bench/cluster.ts, from empty to rest.
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { labels, type NodeTwinStatus } from "../src/core/api/index.ts";
import { systemClock } from "../src/platform/clock/index.ts";
import { KubeClient, type KubeObject, Reflector, type Resource, resources } from "../src/platform/kube/index.ts";
import { createLogger } from "../src/platform/log/index.ts";
import { seededRandom } from "../src/platform/random/index.ts";
import { schedulerConfigText } from "../src/programs/cli/scheduler-config.ts";
import { reach } from "../test/contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../test/controlplane/harness.ts";
import { numbered } from "../test/controlplane/objects.ts";
import type { SchedulerConfig } from "../test/controlplane/programs.ts";
import { JouliePrograms, poolLabel, singleNode } from "./cluster-programs.ts";
import { measureRest, requestCounts } from "./cluster-rest.ts";
import type { BenchFigure } from "./scenario.ts";
import { bucketsOf, quantileOf } from "./scheduler-histogram.ts";
import { BoundPods } from "./scheduling-run.ts";

const PODS_PER_NODE = 4;
/** The share of all pods that kube-scheduler places without Joulie, and as many once more with it. */
const SCHEDULED_SHARE = 0.25;
const CONVERGE_LIMIT_MS = 600_000;
const SCHEDULE_LIMIT_MS = 120_000;
const P99 = 0.99;

/** Measures a cluster of `nodes` nodes with four pods each; `main` is the bundle. */
export async function measureCluster(nodes: number, main: string): Promise<Record<string, BenchFigure>> {
  const figures: Record<string, BenchFigure> = {};
  const title = `${nodes} nodes`;
  const plane = await startControlPlane({ audit: true });
  let joulie: JouliePrograms | undefined;
  try {
    const pool = numbered("node", nodes);
    const pods = nodes * PODS_PER_NODE;
    const scheduled = Math.round(pods * SCHEDULED_SHARE);
    await createCluster(plane, pool, pods - scheduled);

    const without = await schedulePods(plane, "without", scheduled, {});
    report(figures, `${title}, without Joulie`, without);

    const from = plane.auditEnd();
    const begun = performance.now();
    joulie = await JouliePrograms.start(plane, main, pool);
    await plane.schedule(schedulerConfig(joulie.extenderPort));
    await converge(figures, title, plane, { begun, joulie, nodes });
    const started = plane.audited(from);
    for (const [request, count] of requestCounts(started))
      figures[`${title} at the start: ${request}`] = { unit: "per node", value: count / nodes };
    const watches = started.filter(({ user, verb }) => user.endsWith(":joulie-agent") && verb === "watch");
    figures[`${title}: watches of one node agent`] = { unit: "", value: watches.length };

    await hardwarePublished(plane, nodes);
    await measureRest(figures, `${title} at rest`, plane, joulie);

    const withJoulie = await schedulePods(plane, "with", scheduled, schedulerConfig(joulie.extenderPort));
    report(figures, `${title}, with Joulie`, withJoulie);
    const page = await joulie.byRole["joulie-extender"][0]?.metrics();
    for (const verb of ["filter", "prioritize"]) {
      const buckets = bucketsOf(page ?? "", `joulie_scheduler_${verb}_duration_seconds`);
      figures[`${title}: extender's ${verb}, p99`] = { unit: "ms", value: quantileOf(buckets, P99) * 1000 };
    }
    return figures;
  } finally {
    await joulie?.stop();
    await plane.stop();
  }
}

async function converge(
  figures: Record<string, BenchFigure>,
  title: string,
  plane: ControlPlane,
  { begun, joulie, nodes }: { readonly begun: number; readonly joulie: JouliePrograms; readonly nodes: number },
): Promise<void> {
  const twins = new Watched(plane, resources.nodeTwins, (object) =>
    progressOf((object as { status?: NodeTwinStatus }).status),
  );
  try {
    await joulie.ready();
    figures[`${title}: all programs ready after`] = secondsSince(begun);
    await twins.until(nodes + 1, ({ isPublished }) => isPublished);
    figures[`${title}: all twins fresh after`] = secondsSince(begun);
    await twins.until(nodes, ({ isMeasured }) => isMeasured);
    figures[`${title}: all caps applied and twins measured after`] = secondsSince(begun);
  } finally {
    await twins.stop();
  }
}

/** Pools publish it at a bounded rate, so the last objects come after the caps. */
async function hardwarePublished(plane: ControlPlane, nodes: number): Promise<void> {
  const hardware = new Watched(plane, resources.nodeHardwares, () => true);
  try {
    await hardware.until(nodes, () => true);
  } finally {
    await hardware.stop();
  }
}

const secondsSince = (begun: number): BenchFigure => ({ unit: "s", value: (performance.now() - begun) / 1000 });

/** Nodes, and the pods that were placed before the bench begins. */
async function createCluster(plane: ControlPlane, pool: readonly string[], placed: number): Promise<void> {
  const hardware = { "joulie.io/hw.cpu-model": "AMD-EPYC-9654-96-Core-Processor", "joulie.io/hw.cpu-sockets": "2" };
  await plane.createNodes([singleNode, ...pool], (name, index) => ({
    labels: {
      [labels.managed]: "true",
      [labels.rack]: `rack-${index % 100}`,
      ...(name !== singleNode && { ...hardware, [poolLabel]: "true" }),
    },
    capacity: { cpu: "64", memory: "256Gi" },
  }));
  await plane.createPods(numbered("placed", placed), (_, index) => ({
    ...podOptions(index),
    spec: { nodeName: pool[(index * 7) % pool.length] },
  }));
}

/** One pod in ten is a performance pod. */
const podOptions = (index: number) => ({
  ...(index % 10 === 0 && { annotations: { "joulie.io/workload-class": "performance" } }),
  requests: { cpu: "2", memory: "4Gi" },
});

interface Placement {
  readonly podsPerSecond: number;
  readonly algorithmP99: number;
  /** Pods that were not bound in time. */
  readonly late: number;
}

async function schedulePods(
  plane: ControlPlane,
  namespace: string,
  pods: number,
  config: SchedulerConfig,
): Promise<Placement> {
  await plane.schedule(false);
  await plane.createPods(numbered("pod", pods), (_, index) => ({ namespace, ...podOptions(index) }));
  const bound = new BoundPods(plane, namespace);
  try {
    await bound.synced();
    await plane.schedule(config);
    const podsPerSecond = await bound.rate(pods, SCHEDULE_LIMIT_MS);
    const buckets = bucketsOf(await plane.schedulerMetrics(), "scheduler_scheduling_algorithm_duration_seconds");
    return { podsPerSecond, algorithmP99: quantileOf(buckets, P99), late: pods - bound.bound };
  } finally {
    await bound.stop();
  }
}

function report(figures: Record<string, BenchFigure>, title: string, placement: Placement): void {
  const { podsPerSecond, algorithmP99, late } = placement;
  if (late > 0) figures[`${title}: pods not placed within ${SCHEDULE_LIMIT_MS / 1000} s`] = { unit: "", value: late };
  figures[`${title}: pods placed`] = { unit: "per s", value: podsPerSecond };
  figures[`${title}: scheduling algorithm, p99`] = { unit: "ms", value: algorithmP99 * 1000 };
}

/** What `joulie scheduler-config` prints, with the address of the extender here. */
function schedulerConfig(port: number): SchedulerConfig {
  const text = schedulerConfigText({
    namespace: "joulie-system",
    service: "joulie-scheduler-extender",
    port: String(port),
    schedulerName: "default-scheduler",
    tls: false,
    wholeNodes: false,
  });
  const config = parse(text) as { extenders: { urlPrefix: string }[] };
  return {
    ...config,
    extenders: config.extenders.map((extender) => ({ ...extender, urlPrefix: `http://127.0.0.1:${port}` })),
  };
}

interface TwinProgress {
  readonly isPublished: boolean;
  readonly isMeasured: boolean;
}

/** Follows the objects of a kind while the cluster converges. */
class Watched<Value> {
  readonly #transport;
  readonly #reflector: Reflector<Value>;

  constructor({ admin }: ControlPlane, resource: Resource, project: (object: KubeObject) => Value) {
    this.#transport = reach(admin.server, admin.token, admin.ca);
    const base = { clock: systemClock, random: seededRandom(1) };
    this.#reflector = new Reflector({
      ...base,
      client: new KubeClient({ ...base, transport: this.#transport, fieldManager: "bench" }),
      log: createLogger({ level: "fatal", program: "bench" }),
      resource,
      project,
    });
    this.#reflector.start();
  }

  async until(count: number, holds: (value: Value) => boolean): Promise<void> {
    const deadline = performance.now() + CONVERGE_LIMIT_MS;
    for (;;) {
      const reached = [...this.#reflector.store.values()].filter(holds).length;
      if (reached >= count) return;
      if (performance.now() > deadline) throw new Error(`${reached} of ${count} objects after ${CONVERGE_LIMIT_MS} ms`);
      await sleep(250);
    }
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
    await this.#transport.close();
  }
}

const progressOf = (status: NodeTwinStatus | undefined): TwinProgress => ({
  isPublished: status?.lastUpdated !== undefined && status.schedulableClass !== undefined,
  isMeasured: status?.controlStatus?.cpu?.result === "applied" && status.powerMeasurement?.source === "agent",
});
