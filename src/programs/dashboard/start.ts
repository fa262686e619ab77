import packageJson from "../../../package.json" with { type: "json" };
import type { EnergyFactors } from "../../core/report/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { loadCatalogue } from "../../platform/catalogue/index.ts";
import { type Clock } from "../../platform/clock/index.ts";
import { parseConfig } from "../../platform/config/index.ts";
import { FileValue, KubeClient, TokenAuthorizer } from "../../platform/kube/index.ts";
import { ProgramMetrics } from "../../platform/metrics/index.ts";

import { HttpClient, PrometheusClient } from "../../platform/telemetry/index.ts";
import { type ExtenderConfig, extenderConfig } from "../extender/index.ts";
import { type ProgramWorld, runInCluster } from "../run-in-cluster.ts";
import { pageService, processFigures, runServices, type Service } from "../services.ts";
import type { DashboardConfig } from "./config.ts";
import { LiveFeed } from "./live/live-feed.ts";
import { Publisher } from "./live/publisher.ts";
import { countEnergy } from "./metrics.ts";
import { dataPages, PAST_HOURS, RING_HOURS } from "./pages/pages.ts";
import { ClusterHistory } from "./past/cluster-history.ts";
import { HistoryFile, type SavedState } from "./past/history-file.ts";
import { cachedPast, pastOf } from "./past/prometheus-history.ts";
import { Reports } from "./reports.ts";
import { DashboardAccess } from "./server/access.ts";
import { assetsFolder, loadAssets } from "./server/assets.ts";
import { type DashboardServer, serveDashboard } from "./server/http-server.ts";
import { ExtenderDecisions } from "./sources/extender-decisions.ts";
import { type ExtenderSettings, InstallationWatch } from "./sources/installation-watch.ts";
import { ProgramPages, planReasons } from "./sources/program-pages.ts";
import { ClusterWatch } from "./state/cluster-watch.ts";

export interface DashboardWorld extends ProgramWorld {
  readonly cluster?: string;
  /** Set by a program that runs the extender itself, in the same process: no Deployment has its settings. */
  readonly extender?: ExtenderConfig;
  /** How many pages may be open at the same time. */
  readonly clients?: number;
  readonly onServing?: (url: string) => void;
}

const NAME = "joulie-dashboard";
const MAX_CLIENTS = 64;
const SAVE_EVERY = milliseconds(60_000);
const CALL = milliseconds(2000);
const LONG_CALL = milliseconds(15_000);

export const start = async (config: DashboardConfig): Promise<number> =>
  runInCluster("dashboard", config, async (world, signal) =>
    runDashboard(config, { ...world, cluster: world.server }, signal),
  );

/** Wires the dashboard: watches, history, reports, pages, the stream of changes and the servers. */
export async function runDashboard(config: DashboardConfig, world: DashboardWorld, signal: AbortSignal): Promise<void> {
  const { transport, clock, ioClock, random, log, clients = MAX_CLIENTS } = world;
  const catalogue = await loadCatalogue(config.HARDWARE_CATALOG_PATH, log);
  const client = new KubeClient({ transport, clock: ioClock, random, fieldManager: NAME, userAgent: NAME });
  const metrics = new ProgramMetrics(ioClock);
  const staleAfter = config.TWIN_STALENESS_THRESHOLD;
  const cluster = new ClusterWatch({ client, clock, ioClock, random, log, staleAfter });
  const history = new ClusterHistory();
  const file = config.HISTORY_FILE === undefined ? undefined : new HistoryFile(config.HISTORY_FILE, log);
  const installed = new InstallationWatch({
    client,
    clock: ioClock,
    random,
    log,
    namespace: config.POD_NAMESPACE,
    assumed:
      world.extender === undefined
        ? assumedExtender(config)
        : { values: world.extender, source: "the settings of the extender" },
    isDemo: world.extender !== undefined,
  });
  const reports = new Reports({
    cluster,
    installation: () => installed.installation,
    catalogue,
    staleAfter,
    factors: factorsOf(config),
    onSample: countEnergy(metrics),
  });
  const state = (): SavedState => ({
    history: history.cluster.save(),
    energy: reports.account.stored,
    hours: reports.hours.stored,
  });
  const epoch = Math.floor(random.next() * 2 ** 48).toString(36);
  const feed = new LiveFeed({ epoch, clients });
  const http = new HttpClient({ clock: ioClock, timeout: CALL, maxBodyBytes: 16 * 2 ** 20 });
  const prometheus =
    config.PROMETHEUS_ADDRESS === undefined
      ? undefined
      : new PrometheusClient({ clock: ioClock, timeout: LONG_CALL, address: config.PROMETHEUS_ADDRESS });
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
  const token = config.DEBUG_TOKEN_FILE === undefined ? undefined : new FileValue(config.DEBUG_TOKEN_FILE, ioClock);
  const pagesOf = (url: string) => new ProgramPages({ url, http, clock: ioClock, token });
  const assets = assetsFolder();
  const extender =
    config.EXTENDER_URL === undefined
      ? undefined
      : new ExtenderDecisions({
          pages: pagesOf(config.EXTENDER_URL),
          decisions: cluster.decisions,
          clock: ioClock,
          log,
        });
  const pages = pageService(
    {
      address: config.METRICS_ADDR,
      metrics,
      log,
      clock: ioClock,
      ready: {
        synced: () => (cluster.unsynced.length === 0 ? undefined : `not read yet: ${cluster.unsynced.join(", ")}`),
      },
    },
    (url) => log.info({ metrics: url }, "serving metrics and health"),
  );
  let server: DashboardServer | undefined;
  const serveAll = async () =>
    serveDashboard(
      {
        address: config.DASHBOARD_ADDR,
        assets: assets === undefined ? new Map() : loadAssets(assets),
        access: new DashboardAccess(new TokenAuthorizer({ transport, clock: ioClock, random, log, userAgent: NAME })),
        feed,
        pages: dataPages({
          cluster,
          history,
          past: prometheus && cachedPast(async (now, length) => pastOf(prometheus, history, log, now, length)),
          snapshot: () => publisher.snapshot(),
          reasonOf:
            config.OPERATOR_URL === undefined ? async () => undefined : planReasons(pagesOf(config.OPERATOR_URL), log),
          reports,
          extender: () => installed.extender,
          catalogue,
          now: () => clock.now(),
        }),
        log,
        clock: ioClock,
      },
      clients,
    );
  const connections: Service = { stop: async () => Promise.all([http.close(), prometheus?.close()]) };
  const saved: Service = {
    start: async () => {
      const found = await file?.load();
      if (found !== undefined) history.cluster.restore(found.history);
      reports.restore(found?.energy, found?.hours);
    },
    run: async (stop) => {
      if (file !== undefined) await saveRegularly(file, state, ioClock, stop);
    },
    stop: async () => file?.save(state),
  };
  const page: Service = {
    start: async () => {
      server = await serveAll();
      log.info({ url: server.url }, "serving the dashboard");
      world.onServing?.(server.url);
    },
    stop: async () => server?.close(),
  };
  const decisions = extender === undefined ? [] : [extender];
  const figures = processFigures(metrics, ioClock);
  await runServices([connections, saved, figures, pages, cluster, installed, ...decisions, page, publisher], signal);
}

function assumedExtender({ SCORING, TWIN_STALENESS_THRESHOLD }: DashboardConfig): ExtenderSettings {
  const parsed = parseConfig(extenderConfig, {
    env: {},
    flags: {},
    machine: { isTerminal: false, exists: () => false },
  });
  if (!parsed.ok) throw new Error("the defaults of the extender are invalid");
  const values = { ...parsed.value.values, SCORING, TWIN_STALENESS_THRESHOLD };
  return { values, source: `default settings, with SCORING=${SCORING} of the dashboard` };
}

const factorsOf = (config: DashboardConfig): EnergyFactors => ({
  pricePerKilowattHour: config.ENERGY_PRICE,
  currency: config.ENERGY_CURRENCY,
  gramsCo2PerKilowattHour: config.CARBON_INTENSITY,
  pue: config.SITE_PUE,
});

async function saveRegularly(
  file: HistoryFile,
  state: () => SavedState,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(SAVE_EVERY, signal).catch(() => undefined);
    if (!signal.aborted) await file.save(state);
  }
}
