import process from "node:process";
import { JoulieError } from "../../core/api/index.ts";
import { inSeconds, milliseconds, type RandomSource, type Seconds } from "../../core/units/index.ts";
import { type Clock, eventLoopDelay, ScaledClock, systemClock } from "../../platform/clock/index.ts";
import { loggerOf } from "../../platform/config/index.ts";
import { HttpTransport, KubeClient, loadIdentity, type Transport } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { measureProcess, ProgramMetrics } from "../../platform/metrics/index.ts";
import { seededRandom, systemRandom } from "../../platform/random/index.ts";
import { type Served, serve, untilStopped } from "../../platform/serve/index.ts";
import { type JobArrival, jobArrivals } from "./arrivals.ts";
import { cleanUp } from "./cleanup.ts";
import type { FleetConfig } from "./config.ts";
import { Datacenter } from "./datacenter.ts";
import { FleetMetrics } from "./fleet-metrics.ts";
import { JobSubmitter } from "./job-submitter.ts";
import { SimulatedKubelet } from "./kubelet.ts";
import { generateMachines, type MachineSpec } from "./machine-specs.ts";
import { FIELD_MANAGER } from "./names.ts";
import { NodeRegistrar } from "./node-registrar.ts";
import { PodWatch } from "./pod-watch.ts";
import { PowerEndpoints } from "./power-endpoints.ts";
import { RedfishService } from "./redfish.ts";
import { RejectedWriteLog, type WriteTarget } from "./rejected-write-log.ts";
import { NodeRoutes } from "./routes.ts";
import { type NodeServer, serveNodes } from "./server.ts";

/** Dependencies of the fleet. */
export interface FleetEnvironment {
  readonly transport: Transport;
  /**
   * Simulated time for physics, jobs and timestamps; may be virtual or scaled. `SPEED` is applied by `start` only.
   */
  readonly clock: Clock;
  /** Real time for calls, leases and retries. */
  readonly ioClock: Clock;
  /** Time of day of the site at the start, in seconds after midnight; by default that of the clock. */
  readonly timeOfDay?: Seconds;
  /** For jitter and names. The simulation itself uses the seed. */
  readonly random: RandomSource;
  readonly log: Logger;
  /** Called when the HTTP server is up. Nodes may still be registering: await `registered`. */
  readonly onServing?: (simulator: RunningFleet) => void;
}

/** A running fleet, for programs that embed it. */
export interface RunningFleet {
  /** Base URL of /telemetry, /control, /state and /api/v1/query. */
  readonly url: string;
  readonly metricsUrl: string;
  /** Power, energy, caps and cap violations. */
  readonly datacenter: Datacenter;
  /** Resolves when every node is registered; rejects on failure or shutdown. */
  readonly registered: Promise<void>;
  readonly jobs: { readonly submitted: number; readonly withheld: number; readonly behind: number };
}

/** 5,000 nodes with leases need 10,000 writes at the start; the API server applies its own limits. */
const CALLS = { perSecond: 2000, burst: 2000, queue: 100_000 };
/** All initial jobs of a large cluster arrive at once; schedulers place a few hundred per second. */
const SUBMISSIONS = { perSecond: 500, burst: 500, queue: 1000 };

/** Runs `joulie fleet` until a signal arrives. Returns the exit code. */
export async function start(config: FleetConfig): Promise<number> {
  const log = loggerOf("simulator", config);
  const ioClock = systemClock;
  const clock = config.SPEED === 1 ? ioClock : new ScaledClock(ioClock, config.SPEED);
  const stop = untilStopped(process, log);
  let transport: Transport | undefined;
  try {
    const identity = await loadIdentity({
      clock: ioClock,
      kubeconfig: config.KUBECONFIG,
      allowInsecureToken: config.KUBE_ALLOW_INSECURE_TOKEN,
      environment: process.env,
    });
    transport = new HttpTransport({ identity });
    await runFleet(config, { transport, clock, ioClock, random: systemRandom, log }, stop.signal);
    return 0;
  } catch (err) {
    // Expected errors are printed by the command line in one line.
    if (err instanceof JoulieError) throw err;
    log.fatal({ err }, "the fleet failed");
    return 1;
  } finally {
    stop.release();
    await transport?.close();
  }
}

/** The whole fleet on one screen: physics, kubelet, workload, HTTP pages, shutdown. */
export async function runFleet(config: FleetConfig, world: FleetEnvironment, signal: AbortSignal): Promise<void> {
  const { transport, clock, ioClock, random, log } = world;
  const names = { fieldManager: FIELD_MANAGER, userAgent: FIELD_MANAGER };
  const clientOf = (limit: typeof CALLS) => new KubeClient({ transport, clock: ioClock, random, ...names, limit });
  const client = clientOf(CALLS);
  const io = { client, clock, ioClock, random, log };
  const prefix = config.NODE_PREFIX;
  const refusals = new RejectedWriteLog(log);
  const onFailed = (written: WriteTarget) => (error: unknown) => {
    figures.failed(written);
    refusals.record(written, error);
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
      if (power === "on") kubelet.startMachine(watch.on(node));
      else kubelet.forgetMachine(node);
    },
  });
  const kubelet: SimulatedKubelet = new SimulatedKubelet({
    ...io,
    transport,
    datacenter,
    podStart: config.POD_START,
    pod: (key) => watch.get(key),
    owns: (node) => registrar.owns(node),
    onWritten: (what) => figures.wrote(what),
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
  const watch: PodWatch = new PodWatch({
    client,
    clock: ioClock,
    random,
    log,
    prefix,
    isOurs: (node) => datacenter.has(node),
    onChange: (change) => {
      kubelet.observe(change);
      submitter.observe(change);
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
    behind: () => kubelet.behind,
    submitted: () => submitter.submitted,
    withheld: () => submitter.withheld,
  });
  const eventLoop = eventLoopDelay(milliseconds(100));
  measureProcess(metrics, { process, clock: ioClock, eventLoop });

  const ready = {
    nodes: () =>
      registrar.registered < fleet.length ? `${registrar.registered} of ${fleet.length} nodes are there` : undefined,
    pods: () => (watch.hasSynced ? undefined : "pods were not read yet"),
  };
  const work = async (registered: Promise<void>): Promise<void> => {
    await registered;
    // Only now: before registration a pod may run on another owner's node of that name.
    watch.start();
    await watch.synced(running);
    log.info({ nodes: fleet.length }, "all simulated nodes are registered");
    await endpoints?.create(running);
    if (config.PROVE_WAKES) await endpoints?.proveWakes(running);
    await submitter.run(jobsOf(config, fleet, datacenter.timeOfDay), running);
  };
  let nodes: NodeServer | undefined;
  let pages: Served | undefined;
  let endpoints: PowerEndpoints | undefined;
  let entered = false;
  const ended = new AbortController();
  const running = AbortSignal.any([signal, ended.signal]);
  try {
    const routes = new NodeRoutes(datacenter, clock);
    const redfish = config.SLEEP ? new RedfishService(datacenter, config.REDFISH_PASSWORD) : undefined;
    const pagesOfNodes = { routes, redfish, metrics: figures, ready, log, clock: ioClock };
    nodes = await serveNodes({ address: config.SIMULATOR_ADDR, ...pagesOfNodes });
    if (config.SLEEP)
      endpoints = new PowerEndpoints({
        ...io,
        nodes: fleet.map(({ name }) => name),
        address: config.REDFISH_ADDRESS ?? nodes.url,
        secret: config.REDFISH_SECRET,
        onFailed: onFailed("power endpoint"),
      });
    pages = await serve({ address: config.METRICS_ADDR, metrics: figures, ready, log, clock: ioClock });
    log.info({ url: nodes.url, metrics: pages.url, nodes: fleet.length, seed: config.SEED }, "serving simulated nodes");
    datacenter.start();
    entered = true;
    const registered = registrar.register(running);
    world.onServing?.({ url: nodes.url, metricsUrl: pages.url, datacenter, registered, jobs: submitter });
    await Promise.all([registrar.sendHeartbeats(running), work(registered)]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    ended.abort(new Error("the fleet has stopped"));
    eventLoop.stop();
    await Promise.all([submitter.stop(), kubelet.stop(), registrar.stop()]);
    // A fleet that never started owns nothing in the cluster.
    if (entered && !config.KEEP_OBJECTS) await cleanUp({ ...io, registrar, endpoints, transport, prefix });
    tellSummary(datacenter, log);
    datacenter.stop();
    await Promise.all([nodes?.close(), pages?.close(), watch.stop()]);
  }
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
