import { inSeconds, type Seconds } from "../../core/units/index.ts";
import { ScaledClock } from "../../platform/clock/index.ts";
import { isApiError, KubeClient, Reflector, resources } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { onceEach } from "../../platform/log/index.ts";
import { ProgramMetrics } from "../../platform/metrics/index.ts";
import { seededRandom } from "../../platform/random/index.ts";

import { type ProgramWorld, runInCluster } from "../run-in-cluster.ts";
import { pageService, processFigures, runServices, type Service } from "../services.ts";
import { cleanUpFleet } from "./cleanup.ts";
import type { FleetConfig } from "./config.ts";
import { Datacenter } from "./machines/datacenter.ts";
import { generateMachines, type MachineSpec } from "./machines/machine-specs.ts";
import { FIELD_MANAGER } from "./names.ts";
import { NodeRegistrar } from "./nodes/node-registrar.ts";
import { PowerEndpoints } from "./nodes/power-endpoints.ts";
import { FleetMetrics, type WriteTarget } from "./pages/fleet-metrics.ts";
import { RedfishService } from "./pages/redfish.ts";
import { NodeRoutes } from "./pages/routes.ts";
import { type NodeServer, serveNodes } from "./pages/server.ts";
import { SimulatedKubelet } from "./pods/kubelet.ts";
import { type FleetPod, fleetPodOf } from "./pods/pod-job.ts";
import { type JobArrival, jobArrivals } from "./workload/arrivals.ts";
import { JobSubmitter } from "./workload/job-submitter.ts";

export interface FleetWorld extends ProgramWorld {
  /** Time of day of the site at the start, in seconds after midnight; by default that of the clock. */
  readonly timeOfDay?: Seconds;
  /** Called when the HTTP server is up. Nodes may still be registering: await `registered`. */
  readonly onServing?: (simulator: RunningFleet) => void;
}

export interface RunningFleet {
  readonly url: string;
  readonly metricsUrl: string;
  readonly datacenter: Datacenter;
  /** Resolves when every node is registered; rejects on failure or shutdown. */
  readonly registered: Promise<void>;
  readonly jobs: { readonly submitted: number; readonly withheld: number; readonly behind: number };
}

/** 5,000 nodes with leases need 10,000 writes at the start; the API server applies its own limits. */
const CALLS = { perSecond: 2000, burst: 2000, queue: 100_000 };
/** All initial jobs of a large cluster arrive at once; schedulers place a few hundred per second. */
const SUBMISSIONS = { perSecond: 500, burst: 500, queue: 1000 };

/** Missing permission or namespace, or an object that the server rejects: a user must act. */
const LASTING = ["unauthorized", "forbidden", "notFound", "badRequest", "invalid"] as const;

export const start = async (config: FleetConfig): Promise<number> =>
  runInCluster("simulator", config, async (world, signal) => {
    const clock = config.SPEED === 1 ? world.ioClock : new ScaledClock(world.ioClock, config.SPEED);
    await runFleet(config, { ...world, clock }, signal);
  });

/** The whole fleet on one screen: physics, kubelet, workload, HTTP pages, shutdown. */
export async function runFleet(config: FleetConfig, world: FleetWorld, signal: AbortSignal): Promise<void> {
  const { transport, clock, ioClock, random, log } = world;
  const names = { fieldManager: FIELD_MANAGER, userAgent: FIELD_MANAGER };
  const clientOf = (limit: typeof CALLS) => new KubeClient({ transport, clock: ioClock, random, ...names, limit });
  const client = clientOf(CALLS);
  const io = { client, clock, ioClock, random, log };
  const prefix = config.NODE_PREFIX;
  const warnOnce = onceEach((_, written: WriteTarget, err: unknown) =>
    log.warn({ written, err }, "the API server rejects writes; retrying, further rejections are not logged"),
  );
  const onFailed = (written: WriteTarget) => (error: unknown) => {
    figures.failed(written);
    if (isApiError(error, ...LASTING)) warnOnce(`${written} ${error.kind}`, written, error);
  };
  const fleet = generateMachines(config.NODES, prefix, seededRandom(config.SEED), {
    bootTime: config.BOOT_TIME && inSeconds(config.BOOT_TIME),
    shutdownTime: inSeconds(config.SHUTDOWN_TIME),
    maySleep: config.SLEEP,
  });
  const boots = seededRandom(config.SEED + 2);
  const datacenter: Datacenter = new Datacenter({
    fleet,
    clock,
    timeOfDay: world.timeOfDay,
    level: { cpuPct: config.CPU_PERFORMANCE_CAP_PCT_OF_MAX, gpuPct: config.GPU_PERFORMANCE_CAP_PCT_OF_MAX },
    onFinished: (job, at) => kubelet.finished(job, at),
    bootFails: () => boots.next() < config.FAILED_BOOTS,
    onSwitched: (node, power) => {
      registrar.switched(node, power);
      if (power === "on") kubelet.startMachine(Array.from(watch.store.values()).filter((pod) => pod.node === node));
      else kubelet.forgetMachine(node);
    },
  });
  const kubelet: SimulatedKubelet = new SimulatedKubelet({
    ...io,
    datacenter,
    podStart: config.POD_START,
    pod: (key) => watch.store.getByKey(key),
    owns: (node) => registrar.owns(node),
    onFailed: onFailed("pod"),
  });
  const submitter = new JobSubmitter({
    ...io,
    client: clientOf(SUBMISSIONS),
    namespace: config.WORKLOAD_NAMESPACE,
    prefix,
    scheduler: config.SCHEDULER_NAME,
    maxPods: config.MAX_PODS,
    finishedPodRetention: config.FINISHED_PODS_KEPT,
    onFailed: onFailed("job"),
  });
  // Pods on our nodes and pods submitted by this fleet.
  const watch: Reflector<FleetPod> = new Reflector({
    client,
    clock: ioClock,
    random,
    log,
    resource: resources.pods,
    project: (object) => {
      const pod = fleetPodOf(object, prefix);
      return pod.submittedHere || (pod.node !== undefined && datacenter.has(pod.node)) ? pod : undefined;
    },
    onChange: (changes) => {
      for (const change of changes) {
        kubelet.observe(change);
        submitter.observe(change);
      }
    },
  });
  const registrar: NodeRegistrar = new NodeRegistrar({
    ...io,
    fleet,
    powerOf: (node) => datacenter.machine(node)?.power ?? "on",
    tainted: config.TAINT_NODES,
    heartbeat: config.HEARTBEAT_INTERVAL,
    onFailed: onFailed("node"),
  });
  const metrics = new ProgramMetrics(ioClock);
  const figures: FleetMetrics = new FleetMetrics(metrics, {
    datacenter,
    registered: () => registrar.registered,
  });
  const ready = {
    nodes: () =>
      registrar.registered < fleet.length ? `${registrar.registered} of ${fleet.length} nodes are there` : undefined,
    pods: () => (watch.hasSynced ? undefined : "pods were not read yet"),
  };
  const routes = new NodeRoutes(datacenter, clock);
  const redfish = config.SLEEP ? new RedfishService(datacenter, config.REDFISH_PASSWORD) : undefined;
  let nodes: NodeServer | undefined;
  let endpoints: PowerEndpoints | undefined;
  const machines: Service = {
    start: async () => {
      nodes = await serveNodes({ address: config.SIMULATOR_ADDR, routes, redfish, log, clock: ioClock });
      log.info({ url: nodes.url, nodes: fleet.length, seed: config.SEED }, "serving simulated nodes");
      if (config.SLEEP)
        endpoints = new PowerEndpoints({
          ...io,
          nodes: fleet.map(({ name }) => name),
          address: config.REDFISH_ADDRESS ?? nodes.url,
          secret: config.REDFISH_SECRET,
          onFailed: onFailed("power endpoint"),
        });
    },
    stop: async () => nodes?.close(),
  };
  let metricsUrl = "";
  const pages = pageService({ address: config.METRICS_ADDR, metrics: figures, ready, log, clock: ioClock }, (url) => {
    metricsUrl = url;
    log.info({ metrics: url }, "serving metrics and health");
  });
  const physics: Service = {
    start: () => datacenter.start(),
    stop: () => {
      tellSummary(datacenter, log);
      datacenter.stop();
    },
  };
  let entered = false;
  const objects: Service = {
    start: () => {
      entered = true;
    },
    stop: async () => {
      await Promise.all([submitter.stop(), kubelet.stop(), registrar.stop()]);
      // A fleet that never started owns nothing in the cluster.
      if (entered && !config.KEEP_OBJECTS) await cleanUpFleet({ ...io, registrar, endpoints, prefix });
    },
  };
  const prepare = async (registered: Promise<void>, stop: AbortSignal): Promise<void> => {
    await registered;
    // Only now: before registration a pod may run on another owner's node of that name.
    watch.start();
    await watch.synced(stop);
    log.info({ nodes: fleet.length }, "all simulated nodes are registered");
    await endpoints?.create(stop);
    if (config.PROVE_WAKES) await endpoints?.proveWakes(stop);
    await submitter.run(jobsOf(config, fleet, datacenter.timeOfDay), stop);
  };
  const work: Service = {
    run: async (stop) => {
      const registered = registrar.register(stop);
      world.onServing?.({ url: nodes?.url ?? "", metricsUrl, datacenter, registered, jobs: submitter });
      try {
        await Promise.all([registrar.run(stop), prepare(registered, stop)]);
      } catch (error) {
        if (!stop.aborted) throw error;
      }
    },
  };
  const figuresOfProcess = processFigures(metrics, ioClock);
  const watching = { stop: async () => watch.stop() };
  await runServices([watching, machines, pages, figuresOfProcess, physics, objects, work], signal);
}

function jobsOf(config: FleetConfig, fleet: readonly MachineSpec[], timeOfDay: Seconds): Iterable<JobArrival> {
  if (config.WORKLOAD === "none") return [];
  return jobArrivals({
    fleet,
    load: config.LOAD,
    performanceShare: config.PERFORMANCE_SHARE,
    batchShare: config.BATCH_SHARE,
    timeOfDay,
    random: seededRandom(config.SEED + 1),
  });
}

function tellSummary({ totals, offences }: Datacenter, log: Logger): void {
  const figures = {
    simulatedSeconds: Math.round(totals.seconds),
    kWh: totals.joules / 3.6e6,
    capChanges: totals.capChanges,
    performancePodsHeld: offences.pods,
  };
  log.info(figures, "simulation totals");
}
