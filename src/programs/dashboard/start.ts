import process from "node:process";
import packageJson from "../../../package.json" with { type: "json" };
import { JoulieError } from "../../core/api/index.ts";
import { milliseconds, type RandomSource } from "../../core/units/index.ts";
import { loadCatalogue } from "../../platform/catalogue/index.ts";
import { type Clock, eventLoopDelay, systemClock } from "../../platform/clock/index.ts";
import { loggerOf } from "../../platform/config/index.ts";
import { HttpTransport, KubeClient, loadIdentity, TokenAuthorizer, type Transport } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { measureProcess, ProgramMetrics } from "../../platform/metrics/index.ts";
import { systemRandom } from "../../platform/random/index.ts";
import { type Served, serve, untilStopped } from "../../platform/serve/index.ts";
import { HttpClient, PrometheusClient } from "../../platform/telemetry/index.ts";
import type { DashboardConfig } from "./config.ts";
import { LiveFeed } from "./live/live-feed.ts";
import { Publisher } from "./live/publisher.ts";
import { definitions } from "./metrics.ts";
import { dataPages, PAST_HOURS, RING_HOURS } from "./pages/pages.ts";
import { ClusterHistory } from "./past/cluster-history.ts";
import { HistoryFile } from "./past/history-file.ts";
import { pastOf } from "./past/prometheus-history.ts";
import { Reports } from "./reports.ts";
import { DashboardAccess } from "./server/access.ts";
import { assetsFolder, loadAssets } from "./server/assets.ts";
import { type DashboardServer, serveDashboard } from "./server/http-server.ts";
import { ExtenderDecisions } from "./sources/extender-decisions.ts";
import { planReasons } from "./sources/plan-reasons.ts";
import { ClusterWatch } from "./state/cluster-watch.ts";

/** The environment of the dashboard. */
export interface DashboardWorld {
  readonly transport: Transport;
  /** The time of the cluster; may be virtual or accelerated. */
  readonly clock: Clock;
  /** For calls and clients. */
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  /** How much faster `clock` runs than the API server's; 1 by default. */
  readonly speed?: () => number;
  /** What the page calls the cluster. */
  readonly cluster?: string;
  /** Called with the address of the page once it is served. */
  readonly onServing?: (url: string) => void;
}

const NAME = "joulie-dashboard";
const SAVE_EVERY = milliseconds(60_000);
const CALL = milliseconds(2000);
const LONG_CALL = milliseconds(15_000);

/** Runs `joulie dashboard` until a signal. Returns the exit code. */
export async function start(config: DashboardConfig): Promise<number> {
  const log = loggerOf("dashboard", config);
  const clock = systemClock;
  const stop = untilStopped(process, log);
  let transport: Transport | undefined;
  try {
    const identity = await loadIdentity({
      clock,
      kubeconfig: config.KUBECONFIG,
      allowInsecureToken: config.KUBE_ALLOW_INSECURE_TOKEN,
      environment: process.env,
    });
    transport = new HttpTransport({ identity });
    const world = { transport, clock, ioClock: clock, random: systemRandom, log, cluster: identity.server };
    await runDashboard(config, world, stop.signal);
    return 0;
  } catch (err) {
    // The command line prints a JoulieError in one line.
    if (err instanceof JoulieError) throw err;
    log.fatal({ err }, "the dashboard failed");
    return 1;
  } finally {
    stop.release();
    await transport?.close();
  }
}

/** Wires the dashboard: watches, history, reports, pages, the stream of changes and the servers. */
export async function runDashboard(config: DashboardConfig, world: DashboardWorld, signal: AbortSignal): Promise<void> {
  const { transport, clock, ioClock, random, log } = world;
  const catalogue = await loadCatalogue(config.HARDWARE_CATALOG_PATH, log);
  const client = new KubeClient({ transport, clock: ioClock, random, fieldManager: NAME, userAgent: NAME });
  const metrics = new ProgramMetrics(ioClock);
  const counters = {
    refused: metrics.counter(definitions.refused),
    resyncs: metrics.counter(definitions.resyncs),
    denied: metrics.counter(definitions.denied),
  };
  const cluster = new ClusterWatch({ client, clock, ioClock, random, log, speed: world.speed ?? (() => 1) });
  const history = new ClusterHistory();
  const file = config.HISTORY_FILE === undefined ? undefined : new HistoryFile(config.HISTORY_FILE, log);
  const reports = new Reports(cluster, catalogue, config.TWIN_STALENESS_THRESHOLD);
  const epoch = Math.floor(random.next() * 2 ** 48).toString(36);
  const feed = new LiveFeed({ epoch, clients: config.DASHBOARD_CLIENTS, onResync: () => counters.resyncs.inc() });
  metrics.reading(definitions.clients, () => feed.size);
  const http = new HttpClient({ clock: ioClock, timeout: CALL, maxBodyBytes: 16 * 2 ** 20 });
  const prometheus =
    config.PROMETHEUS_URL === undefined
      ? undefined
      : new PrometheusClient({ clock: ioClock, timeout: LONG_CALL, address: config.PROMETHEUS_URL });
  const publisher = new Publisher({
    cluster,
    feed,
    history,
    clock,
    ioClock,
    facts: {
      epoch,
      cluster: world.cluster ?? "",
      version: packageJson.version,
      historyHours: prometheus === undefined ? RING_HOURS : PAST_HOURS,
    },
    findProblems: () => reports.problems(clock.now()),
    savedWatts: () => reports.savedWatts(clock.now()),
  });
  const assets = assetsFolder();
  const extender =
    config.EXTENDER_URL === undefined
      ? undefined
      : new ExtenderDecisions({ url: config.EXTENDER_URL, http, decisions: cluster.decisions, clock: ioClock, log });
  const eventLoop = eventLoopDelay(milliseconds(100));
  measureProcess(metrics, { process, clock: ioClock, eventLoop });
  const background: Promise<void>[] = [];
  let served: Served | undefined;
  let server: DashboardServer | undefined;
  try {
    const saved = await file?.load();
    if (saved !== undefined) history.cluster.restore(saved);
    served = await serve({
      address: config.METRICS_ADDR,
      metrics,
      log,
      clock: ioClock,
      ready: {
        synced: () => (cluster.unsynced.length === 0 ? undefined : `not read yet: ${cluster.unsynced.join(", ")}`),
      },
    });
    server = await serveDashboard(
      {
        address: config.DASHBOARD_ADDR,
        assets: assets === undefined ? new Map() : loadAssets(assets),
        access: new DashboardAccess(new TokenAuthorizer({ transport, clock: ioClock, random, log, userAgent: NAME })),
        feed,
        pages: dataPages({
          cluster,
          history,
          past: prometheus && (async (now, length) => pastOf(prometheus, history, log, now, length)),
          snapshot: () => publisher.snapshot(),
          reasonOf:
            config.OPERATOR_URL === undefined ? async () => undefined : planReasons(config.OPERATOR_URL, http, log),
          reports,
          scoring: config.SCORING,
          catalogue,
          now: () => clock.now(),
        }),
        onRefused: () => counters.refused.inc(),
        onDenied: () => counters.denied.inc(),
        log,
        clock: ioClock,
      },
      config.DASHBOARD_CLIENTS,
    );
    log.info({ url: server.url, metrics: served.url }, "serving the dashboard");
    world.onServing?.(server.url);
    cluster.start();
    publisher.start();
    if (extender !== undefined) background.push(extender.run(signal));
    if (file !== undefined) background.push(saveRegularly(file, history, ioClock, signal));
    await until(signal);
  } finally {
    publisher.stop();
    await server?.close();
    eventLoop.stop();
    await Promise.all([served?.close(), cluster.stop(), ...background]);
    await Promise.all([file?.save(() => history.cluster.save()), http.close(), prometheus?.close()]);
  }
}

async function saveRegularly(
  file: HistoryFile,
  history: ClusterHistory,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(SAVE_EVERY, signal).catch(() => undefined);
    if (!signal.aborted) await file.save(() => history.cluster.save());
  }
}

const until = async (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
