import process from "node:process";
import { JoulieError } from "../../core/api/index.ts";
import { milliseconds, type RandomSource, seconds } from "../../core/units/index.ts";
import { type Clock, eventLoopDelay, ScaledClock, systemClock } from "../../platform/clock/index.ts";
import { loggerOf } from "../../platform/config/index.ts";
import { HttpTransport, KubeClient, loadIdentity, type Transport } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { measureProcess, ProgramMetrics } from "../../platform/metrics/index.ts";
import { seededRandom, systemRandom } from "../../platform/random/index.ts";
import { type Served, serve, untilStopped } from "../../platform/serve/index.ts";
import { type Arrival, arrivals } from "./arrivals.ts";
import { clearAway } from "./clearing.ts";
import type { SimulatorConfig } from "./config.ts";
import { Datacenter } from "./datacenter.ts";
import { Figures } from "./figures.ts";
import { fleetOf, type MachineSpec } from "./fleet.ts";
import { Kubelet } from "./kubelet.ts";
import { FIELD_MANAGER } from "./names.ts";
import { PodWatch } from "./pod-watch.ts";
import { Refusals, type Written } from "./refusals.ts";
import { Registrar } from "./registrar.ts";
import { NodeRoutes } from "./routes.ts";
import { type NodeServer, serveNodes } from "./server.ts";
import { Submitter } from "./submitter.ts";

/** What the simulator runs in. */
export interface SimulatorWorld {
  readonly transport: Transport;
  /** The simulated time: physics, jobs and time stamps; may be virtual or scaled. `SPEED` is for `start` alone. */
  readonly clock: Clock;
  /** For calls, leases and pauses between retries: real time. */
  readonly ioClock: Clock;
  /** For jitter and names. What is simulated goes by the seed. */
  readonly random: RandomSource;
  readonly log: Logger;
  /** Told once it serves. Nodes may still be on their way into the cluster: `registered` waits for them. */
  readonly onServing?: (simulator: RunningSimulator) => void;
}

/** A simulator at work, for a program that runs one beside others. */
export interface RunningSimulator {
  /** Where /telemetry, /control, /state and /api/v1/query are. */
  readonly url: string;
  readonly metricsUrl: string;
  /** Power, energy, caps, and which performance pods were held below their level. */
  readonly datacenter: Datacenter;
  /** Resolves when every node is in the cluster; rejects when that cannot be, or the simulator was stopped before. */
  readonly registered: Promise<void>;
  readonly jobs: { readonly submitted: number; readonly withheld: number; readonly behind: number };
}

/** 5,000 nodes and their leases are 10,000 writes at the start; the API server protects itself by its own measure. */
const CALLS = { perSecond: 2000, burst: 2000, queue: 100_000 };
/** A large cluster's jobs all come at once at the start; schedulers place some hundreds a second. */
const SUBMISSIONS = { perSecond: 500, burst: 500, queue: 1000 };
const DAY = 24 * 3600;

/** `joulie simulator`, until a signal ends it. Gives the exit code. */
export async function start(config: SimulatorConfig): Promise<number> {
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
    await runSimulator(config, { transport, clock, ioClock, random: systemRandom, log }, stop.signal);
    return 0;
  } catch (err) {
    // Foreseen, and told by the command line in one line.
    if (err instanceof JoulieError) throw err;
    log.fatal({ err }, "the simulator cannot go on");
    return 1;
  } finally {
    stop.release();
    await transport?.close();
  }
}

/** The whole simulator on one screen: nodes and their physics, their kubelet, the workload, pages, and the way out. */
export async function runSimulator(config: SimulatorConfig, world: SimulatorWorld, signal: AbortSignal): Promise<void> {
  const { transport, clock, ioClock, random, log } = world;
  const names = { fieldManager: FIELD_MANAGER, userAgent: FIELD_MANAGER };
  const clientOf = (limit: typeof CALLS) => new KubeClient({ transport, clock: ioClock, random, ...names, limit });
  const client = clientOf(CALLS);
  const io = { client, clock, ioClock, random, log };
  const prefix = config.NODE_PREFIX;
  const refusals = new Refusals(log);
  const onFailed = (written: Written) => (error: unknown) => {
    figures.failed(written);
    refusals.hear(written, error);
  };
  const fleet = fleetOf(config.NODES, prefix, seededRandom(config.SEED));
  const datacenter: Datacenter = new Datacenter({
    fleet,
    clock,
    level: { cpuPct: config.CPU_PERFORMANCE_CAP_PCT_OF_MAX, gpuPct: config.GPU_PERFORMANCE_CAP_PCT_OF_MAX },
    onFinished: (job, at) => kubelet.finished(job, at),
  });
  const kubelet: Kubelet = new Kubelet({
    ...io,
    transport,
    datacenter,
    podStart: config.POD_START,
    pod: (key) => watch.get(key),
    owns: (node) => registrar.owns(node),
    onWritten: (what) => figures.wrote(what),
    onFailed: onFailed("pod"),
  });
  const submitter = new Submitter({
    ...io,
    client: clientOf(SUBMISSIONS),
    namespace: config.WORKLOAD_NAMESPACE,
    prefix,
    scheduler: config.SCHEDULER_NAME,
    mostPods: config.MAX_PODS,
    finishedKept: config.FINISHED_PODS_KEPT,
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
  const registrar = new Registrar({
    ...io,
    fleet,
    tainted: config.TAINT_NODES,
    heartbeat: config.HEARTBEAT_INTERVAL,
    onFailed: onFailed("node"),
  });
  const metrics = new ProgramMetrics(ioClock);
  const figures: Figures = new Figures(metrics, {
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
    // Not before: until then a pod may be on somebody else's node of that name.
    watch.start();
    await watch.synced(running);
    log.info({ nodes: fleet.length }, "all simulated nodes are in the cluster");
    await submitter.run(jobsOf(config, fleet, clock), running);
  };
  let nodes: NodeServer | undefined;
  let pages: Served | undefined;
  let entered = false;
  const ended = new AbortController();
  const running = AbortSignal.any([signal, ended.signal]);
  try {
    const routes = new NodeRoutes(datacenter, clock);
    nodes = await serveNodes({ address: config.SIMULATOR_ADDR, routes, metrics: figures, ready, log, clock: ioClock });
    pages = await serve({ address: config.METRICS_ADDR, metrics: figures, ready, log, clock: ioClock });
    log.info({ url: nodes.url, metrics: pages.url, nodes: fleet.length, seed: config.SEED }, "serving simulated nodes");
    datacenter.start();
    entered = true;
    const registered = registrar.register(running);
    world.onServing?.({ url: nodes.url, metricsUrl: pages.url, datacenter, registered, jobs: submitter });
    await Promise.all([registrar.beat(running), work(registered)]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    ended.abort(new Error("the simulator has ended"));
    eventLoop.stop();
    await Promise.all([submitter.stop(), kubelet.stop(), registrar.stop()]);
    // One that never began has nothing in the cluster; what is there under its name is another's.
    if (entered && !config.KEEP_OBJECTS) await clearAway({ ...io, registrar, transport, prefix });
    tellSummary(datacenter, log);
    datacenter.stop();
    await Promise.all([nodes?.close(), pages?.close(), watch.stop()]);
  }
}

function jobsOf(config: SimulatorConfig, fleet: readonly MachineSpec[], clock: Clock): Iterable<Arrival> {
  if (config.WORKLOAD === "none") return [];
  return arrivals({
    fleet,
    load: config.LOAD,
    performanceShare: config.PERFORMANCE_SHARE,
    timeOfDay: seconds((clock.now() / 1000) % DAY),
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
  log.info(figures, "what was simulated");
}
