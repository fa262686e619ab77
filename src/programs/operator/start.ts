import { type ErrorCode, fieldManagers, labels } from "../../core/api/index.ts";
import { eligibilityOf } from "../../core/policy/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { loadCatalogue } from "../../platform/catalogue/index.ts";
import { type Clock, endsWithin } from "../../platform/clock/index.ts";
import { EventRecorder, KubeClient, LeaderElector, StopSwitch, TokenAuthorizer } from "../../platform/kube/index.ts";
import { ChangeLog, onceEach } from "../../platform/log/index.ts";
import { ProgramMetrics } from "../../platform/metrics/index.ts";
import { DebugAccess } from "../../platform/serve/index.ts";
import { type ProgramWorld, runInCluster } from "../run-in-cluster.ts";
import { pageService, processFigures, runServices } from "../services.ts";
import type { OperatorConfig } from "./config.ts";
import { siteCoolingModel } from "./cooling.ts";
import { EventPublisher } from "./events/event-publisher.ts";
import { SleepEvents } from "./events/sleep-events.ts";
import { UnknownClassEvents } from "./events/unknown-class-events.ts";
import { OperatorMetrics } from "./metrics/operator-metrics.ts";
import { ArrivalStore } from "./observe/arrival-store.ts";
import { ClusterState } from "./observe/cluster-state.ts";
import { PowerPoller } from "./observe/power-poller.ts";
import { planPage } from "./plan-page.ts";
import { PlanningLoop } from "./planning-loop.ts";
import { removeFormerLabels } from "./reconcile/former-labels.ts";
import { PendingWrites } from "./reconcile/plan-writer.ts";
import { Reconciler } from "./reconcile/reconciler.ts";
import { operatorSettingsOf, sharedSettings } from "./settings.ts";

export interface OperatorWorld extends ProgramWorld {
  /** For leadership, where the time stamps of `ioClock` are not in real time. */
  readonly leaderClock?: Clock;
}

/** 5,000 nodes need 15,000 writes at a cold start. The API server has its own flow control. */
const CALLS = { perSecond: 1000, burst: 1000, queue: 50_000 };

/** How long the first pass waits for meters. Without them it would write every twin twice. */
const FIRST_READINGS = milliseconds(5000);

const WORKLOAD_CLASS: ErrorCode = "JOULIE_E_WORKLOAD_CLASS";

export const start = async (config: OperatorConfig): Promise<number> =>
  runInCluster("operator", config, async (world, signal) => runOperator(config, world, signal));

/** Wires the operator: client, watches, meters, planning, writes, leader election and HTTP pages. */
export async function runOperator(config: OperatorConfig, world: OperatorWorld, signal: AbortSignal): Promise<void> {
  const { transport, clock, ioClock, random, log } = world;
  const catalogue = await loadCatalogue(config.HARDWARE_CATALOG_PATH, log);
  const settings = operatorSettingsOf(config, catalogue, await siteCoolingModel(config));
  const instance = config.POD_NAME ?? "joulie-operator";
  const client = new KubeClient({
    transport,
    clock: ioClock,
    random,
    fieldManager: fieldManagers.operator,
    userAgent: "joulie-operator",
    limit: CALLS,
  });
  const io = { client, clock: ioClock, random, log };
  const recorder = new EventRecorder({ ...io, seriesClock: clock, controller: "joulie.io/operator", instance });
  const events = new EventPublisher(recorder);
  const programMetrics = new ProgramMetrics(ioClock);
  const metrics = new OperatorMetrics(programMetrics, {
    leading: () => elector.leading,
    podsReadable: () => state.current,
    stopped: () => stopSwitch.reason !== undefined,
  });
  const changes = new ChangeLog(log);

  const state: ClusterState = new ClusterState({
    ...io,
    powerProfileLabel: settings.labels.powerProfile,
    readsShapes: settings.readsShapes,
    sleeps: settings.sleep.mode !== "off",
    sleepSchedulers: settings.sleep.schedulers,
    onRelevantChange: () => loop.request(),
    onUrgentChange: () => loop.requestUrgently(),
    onPlacedPod: (node) => {
      const placedOn = state.node(node);
      if (placedOn !== undefined && eligibilityOf(placedOn, settings.eligibility) !== "unmanaged")
        metrics.countPlacedPod();
    },
    onUnknownClass: onceEach((text) =>
      log.warn({ code: WORKLOAD_CLASS, class: text }, "invalid workload class; its pods count as standard"),
    ),
  });
  const managed = () =>
    Array.from(state.nodes()).filter((node) => eligibilityOf(node, settings.eligibility) !== "unmanaged");
  const poller = new PowerPoller({
    config,
    client,
    clock,
    ioClock,
    random,
    nodes: () => managed().map(({ metadata }) => metadata.name),
    places: () => placesOf(managed().map(({ metadata }) => metadata.labels ?? {})),
    onDropped: (source, dropped) => metrics.countDroppedSamples(source, dropped),
    onProblem: (source, problem) => changes.observe("telemetry", source, problem ?? "answers"),
  });
  const interval = config.RECONCILE_INTERVAL;
  const telemetry = () => poller.telemetry;
  const loop = new PlanningLoop({
    state,
    settings,
    telemetry,
    clock,
    ioClock,
    log,
    changes,
    metrics,
    events,
    unknownClasses: new UnknownClassEvents(recorder),
    sleepEvents: new SleepEvents(recorder, settings.sleep.mode),
    interval,
  });

  const stopSwitch = new StopSwitch({ ...io, namespace: config.POD_NAMESPACE, onChange: () => loop.request() });
  const mayWrite = () => elector.leading && stopSwitch.isKnown && stopSwitch.reason === undefined;
  const pending = new PendingWrites();
  let reconciler: Reconciler | undefined;
  const elector: LeaderElector = new LeaderElector({
    ...io,
    clock: world.leaderClock ?? ioClock,
    calendar: ioClock,
    lease: { namespace: config.POD_NAMESPACE, name: config.LEASE_NAME },
    name: instance,
    lead: async (term) => {
      const current = new Reconciler({
        ...world,
        client,
        state,
        settings,
        metrics,
        events,
        pending,
        namespace: config.POD_NAMESPACE,
        shared: sharedSettings(config),
        mayWrite,
        requestPass: () => loop.request(),
      });
      reconciler = current;
      const synced = state.synced(term);
      const polled = Promise.withResolvers<void>();
      const onFirst = () => {
        polled.resolve();
        loop.request();
      };
      const polling = synced
        .then(async () => poller.run(interval, onFirst, term))
        .catch((err: unknown) => {
          if (!term.aborted) log.error({ err }, "power polling stopped unexpectedly");
        });
      const { powerProfile, draining } = settings.labels;
      const cleaning = removeFormerLabels({ ...io, current: new Set([powerProfile, draining]), mayWrite }, term);
      const storing =
        state.sleep &&
        new ArrivalStore({
          client,
          clock,
          log,
          namespace: config.POD_NAMESPACE,
          arrivals: state.sleep.arrivals,
          mayWrite,
          onRestored: (since) => loop.arrivalsKnownSince(since),
        }).run(term);
      const ready = synced.then(async () => {
        await stopSwitch.known();
        await endsWithin(clock, FIRST_READINGS, polled.promise, term);
        term.throwIfAborted();
      });
      try {
        await loop.run(current, ready, term);
      } finally {
        await Promise.all([current.stop(), polling, cleaning, storing]);
        reconciler = undefined;
      }
    },
  });
  const pages = pageService(
    {
      address: config.METRICS_ADDR,
      metrics: programMetrics,
      log,
      clock: ioClock,
      live: { loop: () => loop.stalled },
      ready: { synced: () => (state.missing.length === 0 ? undefined : `not read yet: ${state.missing.join(", ")}`) },
      debugAccess: new DebugAccess({
        open: config.DEBUG_ENDPOINTS,
        tokens: new TokenAuthorizer({ transport, clock: ioClock, random, log, userAgent: "joulie-operator" }),
      }),
      pages: {
        "/debug/plan": (query) =>
          loop.plan === undefined
            ? { leading: elector.leading }
            : planPage(loop.plan, (node) => reconciler?.failureOf(node), query),
      },
    },
    (url) => log.info({ url }, "serving metrics, health and /debug/plan"),
  );
  const figures = processFigures(programMetrics, ioClock);
  await runServices(
    [recorder, { stop: async () => poller.close() }, figures, pages, stopSwitch, state, elector],
    signal,
  );
}

const placesOf = (nodes: readonly Readonly<Record<string, string>>[]) => ({
  zones: nodes.flatMap((node) => node[labels.coolingZone] ?? []),
  racks: nodes.flatMap((node) => node[labels.rack] ?? []),
});
