import type { ErrorCode } from "../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import { loadCatalogue } from "../../platform/catalogue/index.ts";
import { KubeClient, TokenAuthorizer } from "../../platform/kube/index.ts";
import { onceEach } from "../../platform/log/index.ts";
import { ProgramMetrics } from "../../platform/metrics/index.ts";
import { DebugAccess } from "../../platform/serve/index.ts";
import { type ProgramWorld, runInCluster } from "../run-in-cluster.ts";
import { pageService, processFigures, runServices, type Service } from "../services.ts";
import { type ExtenderConfig, energySettingsOf, scoringSettingsOf, scoringVariablesOf } from "./config.ts";
import { Decider } from "./decisions/decider.ts";
import { DecisionLog } from "./decisions/decision-log.ts";
import { EnergyScorer } from "./decisions/energy-scorer.ts";
import { ExtenderMetrics } from "./extender-metrics.ts";
import { type ConfigSources, followOperator } from "./operator-settings.ts";
import { debugPages, healthPages } from "./pages/pages.ts";
import { BodyBuffers } from "./server/body-buffers.ts";
import { MemoryBudget } from "./server/memory-budget.ts";
import {
  defaultServerLimits,
  type SchedulerServer,
  type SchedulerServerLimits,
  serveScheduler,
} from "./server/server.ts";
import { tlsFilesOf } from "./server/tls.ts";
import { ClusterCache } from "./state/cluster-cache.ts";
import { PlacedPods } from "./state/placed-pods.ts";
import { RequestReader } from "./wire/index.ts";

export interface ExtenderWorld extends ProgramWorld {
  /** Overrides for tests. */
  readonly limits?: Partial<SchedulerServerLimits>;
  /** How long the extender keeps answering, not ready, after the stop signal. Default: 0. */
  readonly shutdownDelay?: Milliseconds;
}

/** Covers a burst of pods. Each decision takes 6 bytes per candidate. */
const DECISION_LOG_SIZE = 100;
/** Until kube-proxy and load balancers use another replica: a refused connection lets performance pods onto eco nodes. */
const SHUTDOWN_DELAY = milliseconds(5000);

export const start = async (config: ExtenderConfig, sources: ConfigSources): Promise<number> =>
  runInCluster("extender", config, async (world, signal) => {
    const run = async (agreed: ExtenderConfig, stop: AbortSignal) =>
      runExtender(agreed, { ...world, shutdownDelay: SHUTDOWN_DELAY }, stop);
    await followOperator(config, { ...world, sources }, run, signal);
  });

/** Wires the extender: cluster cache, decider, debug pages and the servers. */
export async function runExtender(config: ExtenderConfig, world: ExtenderWorld, signal: AbortSignal): Promise<void> {
  const { transport, clock, ioClock, random, log } = world;
  const settings = scoringSettingsOf(config);
  const energySettings = energySettingsOf(config);
  const catalogue = await loadCatalogue(config.HARDWARE_CATALOG_PATH, log);
  const maxBodyBytes = config.EXTENDER_MAX_BODY_BYTES;
  const limits = { ...defaultServerLimits, ...world.limits };
  const budget = new MemoryBudget(2 * maxBodyBytes, ioClock);
  const programMetrics = new ProgramMetrics(ioClock);
  const metrics = new ExtenderMetrics(programMetrics, ioClock, {
    silence: () => state.silence,
    budget,
    pods: () => pods,
  });
  const client = new KubeClient({ transport, clock: ioClock, random, fieldManager: NAME, userAgent: NAME });
  const state: ClusterCache = new ClusterCache({
    client,
    clock: ioClock,
    random,
    log,
    settings,
    energy: energySettings,
    catalogue,
    cacheTtl: config.CACHE_TTL,
    onLeave: (name, slot) => metrics.removeNode(name, slot),
  });
  const { energyKernel: kernel } = state;
  const pods =
    kernel &&
    new PlacedPods({
      kernel,
      client,
      clock,
      ioClock,
      random,
      log,
      idleLimit: config.CACHE_TTL,
      stalenessThreshold: settings.stalenessThreshold,
    });
  const energy =
    kernel && pods && energySettings && new EnergyScorer({ kernel, pods, settings: energySettings, metrics, log });
  const decisions = new DecisionLog(DECISION_LOG_SIZE);
  const decider = new Decider({
    state,
    decisions,
    metrics,
    energy,
    clock,
    onUnknownClass: onceEach((text) =>
      log.warn({ code: WORKLOAD_CLASS, class: text }, "unknown workload class; its pods are treated as standard"),
    ),
  });
  const reader = new RequestReader(settings.nodeLabels);
  // Before the first lists are complete, an answer would let performance pods onto eco nodes. Without an answer, kube-scheduler
  // continues without an `ignorable` extender, and retries the pod otherwise.
  const unreadyReason = () =>
    state.unsynced.length === 0 ? undefined : `not synced yet: ${state.unsynced.join(", ")}`;
  const ready = {
    synced: unreadyReason,
    staying: () => (signal.aborted ? "the extender is shutting down" : undefined),
  };
  const debugAccess = new DebugAccess({
    open: config.DEBUG_ENDPOINTS,
    tokens: new TokenAuthorizer({ transport, clock: ioClock, random, log, userAgent: NAME }),
  });
  const streamedPages = debugPages({
    state,
    decisions,
    settings,
    variables: scoringVariablesOf(config),
    clock,
    ioClock,
  });
  const pages = pageService(
    {
      address: config.METRICS_ADDR,
      metrics: {
        contentType: programMetrics.contentType,
        text: () => metrics.render(state, clock.now(), settings),
      },
      log,
      clock: ioClock,
      ready,
      // Here as well, because EXTENDER_ADDR may ask for TLS and a client certificate.
      streamedPages,
      debugAccess,
    },
    (url) => log.info({ metrics: url }, "serving metrics, health and debug pages"),
  );
  let server: SchedulerServer | undefined;
  const requests: Service = {
    start: async () => {
      server = await serveScheduler({
        address: config.EXTENDER_ADDR,
        tls: tlsFilesOf(config),
        maxBodyBytes,
        budget,
        buffers: new BodyBuffers(minorCollection),
        decide: (verb, body) => decider[verb](reader.read(body)),
        unreadyReason,
        debugAccess,
        pages: { ...healthPages(ready), ...streamedPages },
        metrics,
        log,
        clock: ioClock,
        limits,
      });
      log.info({ url: server.url }, "serving /filter and /prioritize for kube-scheduler");
    },
    stop: async () => {
      if (server === undefined) return;
      server.stopKeepAlive();
      await ioClock.sleep(world.shutdownDelay ?? milliseconds(0));
      await server.close();
    },
  };
  const figures = processFigures(programMetrics, ioClock, milliseconds(20));
  // Requests in progress need the caches: they end first.
  await runServices([figures, pages, state, ...(pods === undefined ? [] : [pods]), requests], signal);
}

const NAME = "joulie-extender";
const WORKLOAD_CLASS: ErrorCode = "JOULIE_E_WORKLOAD_CLASS";

/** Takes less than a millisecond. Node has `gc` only with --expose-gc (see `startOptions`): else bodies take more memory. */
const minorCollection = (): void => {
  globalThis.gc?.({ type: "minor", execution: "sync" });
};
