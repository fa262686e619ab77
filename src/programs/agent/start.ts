import process from "node:process";
import { type ErrorCode, fieldManagers, JoulieError } from "../../core/api/index.ts";
import { maxSafeGap } from "../../core/control/index.ts";
import { type Catalogue, hardwareView } from "../../core/inventory/index.ts";
import { agentReadingFreshFor } from "../../core/twin/index.ts";
import { formatDuration, milliseconds } from "../../core/units/index.ts";
import { loadCatalogue } from "../../platform/catalogue/index.ts";
import { endsWithin } from "../../platform/clock/index.ts";
import { Journal, type JournalFiles, journalFiles } from "../../platform/journal/index.ts";
import {
  CallLimit,
  EventRecorder,
  KubeClient,
  OperatorStateWatch,
  StopSwitch,
  TokenAuthorizer,
} from "../../platform/kube/index.ts";
import { ChangeLog, type Logger } from "../../platform/log/index.ts";
import { measureProcess, ProgramMetrics } from "../../platform/metrics/index.ts";
import { DebugAccess } from "../../platform/serve/index.ts";
import { HttpClient } from "../../platform/telemetry/index.ts";
import { type ProgramWorld, runInCluster } from "../run-in-cluster.ts";
import { pageService, runServices, type Service } from "../services.ts";
import type { AgentConfig } from "./config.ts";
import { hostDiscovery } from "./discovery/host-discovery.ts";
import type { HostMachine } from "./host/host.ts";
import { hostRoots, openHost } from "./host/open-host.ts";
import { NodeControl } from "./loop/node-control.ts";
import { type Discover, NodeRunner } from "./loop/node-runner.ts";
import { restoreAndReport } from "./loop/shutdown.ts";
import { abortAfterGrace, shutdownTimes } from "./loop/shutdown-times.ts";
import { SingleNodeLoop } from "./loop/single-node-loop.ts";
import { hardwareFromLabels, probedHardware } from "./pool/hardware-from-labels.ts";
import { PoolLoop } from "./pool/pool-loop.ts";
import { ShardWatch } from "./pool/shard-watch.ts";
import { AgentMetrics } from "./report/agent-metrics.ts";
import { CapEventPublisher } from "./report/cap-event-publisher.ts";
import { nodeDebugPage } from "./report/debug-page.ts";
import { frequencyMetrics } from "./report/frequency-metrics.ts";
import { HardwareReporter } from "./report/hardware-reporter.ts";
import { StatusReporter } from "./report/status-reporter.ts";
import { lockState } from "./restore/state-lock.ts";
import { agentSettingsOf } from "./settings.ts";
import { PrometheusClients } from "./telemetry/node-power.ts";
import { SingleNodeWatch, type WatchOptions } from "./watch/single-node-watch.ts";

export interface AgentWorld extends ProgramWorld {
  readonly openHost: (catalogue: Catalogue) => Promise<HostMachine>;
  readonly journalFiles: JournalFiles;
}

/** Sized for a pool of thousands of nodes: one report per node and minute, and all of them at once at a cold start. */
const CALLS = { perSecond: 500, burst: 500, queue: 20_000 };
/** At a cold start the first NodeHardware of a pool can wait: the operator knows the same labels. */
const FIRST_HARDWARE = { perSecond: 8, burst: 100, queue: 0 };
/** One HTTP service may serve all nodes; unresponsive nodes must not use up its connections. */
const CONNECTIONS = 2048;
/** From this TARGET_LEASE on, the usual limits of a silent watch are short enough. */
const LONG_LEASE = 270_000;
type Work = (runner: NodeRunner) => Promise<void>;

export async function start(config: AgentConfig): Promise<number> {
  // Fails before anything else if NODE_NAME is missing.
  nodeNameOf(config);
  return runInCluster("agent", config, async (cluster, signal) => {
    const { clock, log } = cluster;
    const lock = await lockState(config.STATE_DIR, { clock, log, signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    if (lock === undefined) return;
    try {
      const world: AgentWorld = {
        ...cluster,
        openHost: async (catalogue) => openHost(config, hostRoots(config), clock, catalogue),
        journalFiles: journalFiles(config.STATE_DIR),
      };
      await runAgent(config, world, signal);
    } finally {
      await lock.release();
    }
  });
}

/** Wires the whole agent: journal, client, watches, node runners, loop, HTTP pages, shutdown. */
export async function runAgent(config: AgentConfig, world: AgentWorld, signal: AbortSignal): Promise<void> {
  const { transport, clock, ioClock, random, log } = world;
  const settings = agentSettingsOf(config);
  const isPool = config.AGENT_MODE === "pool";
  const node = nodeNameOf(config);
  const catalogue = await loadCatalogue(config.HARDWARE_CATALOG_PATH, log);
  const journal = await Journal.open({
    files: world.journalFiles,
    clock: ioClock,
    onProblem: (problem) => log.error({ code: JOURNAL, problem }, "the journal of original limits has a problem"),
  });
  if (settings.simulateOnly && journal.size > 0)
    log.warn({ limits: journal.size }, "an earlier run left limits in force: restoring them; SIMULATE_ONLY sets none");
  const machine = isPool ? undefined : await world.openHost(catalogue);
  if (machine !== undefined) warnOfCounterWraps(machine, config, log);
  if (config.RECONCILE_INTERVAL > agentReadingFreshFor)
    log.warn(
      { interval: formatDuration(config.RECONCILE_INTERVAL), freshFor: formatDuration(agentReadingFreshFor) },
      "RECONCILE_INTERVAL is longer than the operator trusts a reading: it treats nodes as unmeasured in between",
    );
  const client = new KubeClient({
    transport,
    clock: ioClock,
    random,
    fieldManager: fieldManagers.agent,
    userAgent: "joulie-agent",
    limit: CALLS,
  });
  const instance = config.POD_NAME ?? "joulie-agent";
  const recorder = new EventRecorder({
    client,
    clock: ioClock,
    seriesClock: clock,
    random,
    log,
    controller: "joulie.io/agent",
    instance,
  });
  const events = new CapEventPublisher(recorder);
  const metrics = new ProgramMetrics(ioClock);
  const agentMetrics = new AgentMetrics(metrics);
  const changes = new ChangeLog(log);
  const credentials = {
    access: settings.routing.access,
    tokenFile: config.TELEMETRY_HTTP_TOKEN_FILE,
    caFile: config.TELEMETRY_HTTP_CA_FILE,
  };
  const http = new HttpClient({
    clock: ioClock,
    timeout: settings.routing.timeout,
    connections: CONNECTIONS,
    ...credentials,
  });
  const prometheus = new PrometheusClients({ clock: ioClock, ...credentials });

  const firstWrites = new CallLimit({ clock: ioClock, ...FIRST_HARDWARE });
  const runnerOf = (name: string, discover: Discover): NodeRunner =>
    new NodeRunner({
      name,
      view,
      stopSwitch,
      control: new NodeControl({
        node: name,
        host: machine,
        journal,
        http,
        prometheus,
        clock,
        settings,
        onThrottle: (kind) => agentMetrics.recordThrottleAction(name, kind),
        onFirstGpuAnswer: () => own?.request(),
      }),
      reporter: new StatusReporter({
        node: name,
        client,
        clock,
        interval: settings.interval,
        changes,
        aliveAt: () => operatorState.state.aliveAt,
      }),
      hardware: new HardwareReporter({ node: name, client, clock, random, changes, watched: isPool, firstWrites }),
      discover,
      settings,
      clock,
      ioClock,
      metrics: agentMetrics,
      events,
      changes,
    });
  const { lease } = settings.lease;
  const requestTick = (name: string | undefined) => (own === undefined ? pool?.request(name) : own.request());
  // A silent watch counts against TARGET_LEASE, so it is replaced well before the lease expires.
  const idle = lease > 0 && lease < LONG_LEASE ? { idleLimit: milliseconds(lease / 3) } : {};
  const watchOptions = { client, clock: ioClock, random, log, ...idle };
  const stopSwitch = new StopSwitch({
    ...watchOptions,
    namespace: config.POD_NAMESPACE,
    onChange: () => requestTick(undefined),
  });
  const operatorState = new OperatorStateWatch({
    client,
    clock: ioClock,
    random,
    log,
    namespace: config.POD_NAMESPACE,
  });
  const watching: WatchOptions = { ...watchOptions, stopSwitch, onSpecChange: requestTick };
  const shard = isPool
    ? new ShardWatch({
        ...watching,
        selector: config.POOL_NODE_SELECTOR,
        shards: config.POOL_SHARDS,
        shard: config.POOL_SHARD_ID,
        held: new Set(Array.from(journal.entries(), ({ node: held }) => held ?? "")),
      })
    : undefined;
  const view = shard ?? new SingleNodeWatch(node, watching);
  const forceStop = abortAfterGrace(signal, ioClock);
  const looking = { catalogue, clock, log, simulateOnly: settings.simulateOnly, signal: forceStop };
  const ownRunner = machine && runnerOf(node, hostDiscovery(node, machine, looking));
  const own: SingleNodeLoop | undefined =
    ownRunner &&
    new SingleNodeLoop({
      runner: ownRunner,
      clock,
      ioClock,
      log,
      changes,
      metrics: agentMetrics,
      interval: settings.interval,
      forceStop,
      onTick: frequencyMetrics(machine, ownRunner, agentMetrics, clock),
    });
  const pool: PoolLoop | undefined =
    shard &&
    new PoolLoop({
      view: shard,
      journal,
      runnerOf: (name) =>
        runnerOf(name, async (facts, { route }) => {
          const known = probedHardware(facts.hardware);
          const seen = hardwareView(facts.node ?? { metadata: { name } }, known, { catalogue });
          return { view: seen, publish: known === undefined ? hardwareFromLabels(seen, route) : undefined };
        }),
      clock,
      ioClock,
      random,
      log,
      changes,
      metrics: agentMetrics,
      events,
      interval: settings.interval,
      forceStop,
    });
  measureProcess(metrics, { process, clock: ioClock });
  const pages = pageService(
    {
      address: config.METRICS_ADDR,
      metrics,
      log,
      clock: ioClock,
      live: { loop: () => own?.stalled ?? pool?.stalled },
      ready: {
        synced: () => (view.notSynced.length === 0 ? undefined : `not synced yet: ${view.notSynced.join(", ")}`),
      },
      debugAccess: new DebugAccess({
        open: config.DEBUG_ENDPOINTS,
        tokens: new TokenAuthorizer({ transport, clock: ioClock, random, log, userAgent: "joulie-agent" }),
      }),
      pages: {
        "/debug/node": (query) => {
          const asked = query.get("node");
          if (ownRunner !== undefined) return asked === null || asked === node ? nodeDebugPage(ownRunner) : undefined;
          const runner = asked === null ? undefined : pool?.runner(asked);
          return runner === undefined
            ? { nodes: Array.from(pool?.runners() ?? [], ({ name }) => name) }
            : nodeDebugPage(runner);
        },
      },
    },
    (url) => log.info({ url, mode: config.AGENT_MODE }, "serving metrics, health and /debug/node"),
  );
  const connections = [http, prometheus, ...(machine === undefined ? [] : [machine])];
  // Stopped at once, because what hangs here must not keep the others from ending in time.
  const around: Service = {
    start: async () => {
      await pages.start?.();
      stopSwitch.start();
      operatorState.start();
      view.start();
    },
    stop: async () => {
      const stopped = [pages, view, stopSwitch, operatorState, recorder].map(async (service: Service) =>
        service.stop?.(),
      );
      const closed = connections.map(async (connection) => connection.close());
      await endsWithin(ioClock, shutdownTimes.close, Promise.all([...stopped, ...closed]));
    },
  };
  const limits: Service = {
    stop: async () => {
      if (await endsWithin(ioClock, shutdownTimes.flush, journal.flush())) return;
      const within = shutdownTimes.flush;
      log.error({ code: JOURNAL, within }, "the journal of original limits was not written in time");
    },
  };
  const nodes = pool ?? { each: async (work: Work) => (ownRunner === undefined ? undefined : work(ownRunner)) };
  const ticks: Service = {
    run: async (stop) => {
      await (own ?? pool)?.run(stop);
      await restoreAndReport(nodes, { restore: settings.restoreOnExit, clock: ioClock, random, log });
    },
  };
  await runServices([around, limits, ticks], signal);
}

const JOURNAL: ErrorCode = "JOULIE_E_JOURNAL";
const ENERGY_COUNTER: ErrorCode = "JOULIE_E_ENERGY_COUNTER";

function nodeNameOf(config: AgentConfig): string {
  if (config.AGENT_MODE === "pool") return "";
  if (config.NODE_NAME !== undefined) return config.NODE_NAME;
  const how = "set it to the node's name, in a pod from the downward API (spec.nodeName)";
  throw new JoulieError("JOULIE_E_CONFIG_VALUE", `NODE_NAME is not set, and AGENT_MODE=daemonset needs it: ${how}`);
}

function warnOfCounterWraps({ energy }: HostMachine, { RECONCILE_INTERVAL }: AgentConfig, log: Logger): void {
  for (const { zone, counter } of energy.sample().zones) {
    const safe = maxSafeGap(counter);
    if (safe === undefined || RECONCILE_INTERVAL < safe * 1000) continue;
    const maxInterval = formatDuration(milliseconds(Math.floor(safe) * 1000));
    log.warn(
      { code: ENERGY_COUNTER, zone, maxInterval },
      "RECONCILE_INTERVAL is longer than this energy counter takes to wrap around: it gives no power reading",
    );
  }
}
