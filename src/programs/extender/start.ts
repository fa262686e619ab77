import process from "node:process";
import { type ErrorCode, JoulieError } from "../../core/api/index.ts";
import { type Milliseconds, milliseconds, type RandomSource } from "../../core/units/index.ts";
import { loadCatalogue } from "../../platform/catalogue/index.ts";
import { type Clock, eventLoopDelay, systemClock } from "../../platform/clock/index.ts";
import { loggerOf } from "../../platform/config/index.ts";
import { HttpTransport, KubeClient, loadIdentity, TokenAuthorizer, type Transport } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { measureProcess, ProgramMetrics } from "../../platform/metrics/index.ts";
import { systemRandom } from "../../platform/random/index.ts";
import { DebugAccess, type Served, serve, untilStopped } from "../../platform/serve/index.ts";
import type { ExtenderConfig } from "./config.ts";
import { Decider, type ExtenderReply } from "./decisions/decider.ts";
import { DecisionLog } from "./decisions/decision-log.ts";
import { reportOnce } from "./decisions/report-once.ts";
import { ExtenderMetrics } from "./extender-metrics.ts";
import { extenderPages } from "./pages/pages.ts";
import { BodyBuffers } from "./server/body-buffers.ts";
import { MemoryBudget } from "./server/memory-budget.ts";
import {
  defaultServerLimits,
  type SchedulerServer,
  type SchedulerServerLimits,
  serveScheduler,
} from "./server/server.ts";
import { StalledRequests } from "./server/stalled-requests.ts";
import { tlsFilesOf } from "./server/tls.ts";
import { scoringSettingsOf } from "./settings.ts";
import { ClusterCache } from "./state/cluster-cache.ts";
import { RequestReader } from "./wire/request-reader.ts";

/** What the extender runs in. */
export interface ExtenderWorld {
  readonly transport: Transport;
  /** The time that twins are judged by; may be virtual or scaled. */
  readonly clock: Clock;
  /** For calls, clients and scrapes. */
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  /** For tests; the server's own otherwise. */
  readonly limits?: Partial<SchedulerServerLimits>;
  /** How long it goes on answering once it is to end, and says that it is not ready; not at all where nobody is to be told. */
  readonly shutdownDelay?: Milliseconds;
}

/** Enough to look back over a burst of pods; 6 bytes for each candidate of each. */
const WORKLOAD_CLASS: ErrorCode = "JOULIE_E_WORKLOAD_CLASS";
const DECISIONS_KEPT = 100;
/** Until kube-proxy and load balancers send kube-scheduler elsewhere; a refused connection lets performance pods onto eco nodes. */
const SHUTDOWN_DELAY = milliseconds(5000);

/** `joulie extender`, until a signal ends it. Gives the exit code. */
export async function start(config: ExtenderConfig): Promise<number> {
  const log = loggerOf("extender", config);
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
    const world: ExtenderWorld = {
      transport,
      clock,
      ioClock: clock,
      random: systemRandom,
      log,
      shutdownDelay: SHUTDOWN_DELAY,
    };
    await runExtender(config, world, stop.signal);
    return 0;
  } catch (err) {
    // Foreseen, and told by the command line in one line.
    if (err instanceof JoulieError) throw err;
    log.fatal({ err }, "the extender cannot go on");
    return 1;
  } finally {
    stop.release();
    await transport?.close();
  }
}

/** The whole extender on one screen: watches, scores, decisions, pages and the server kube-scheduler asks. */
export async function runExtender(config: ExtenderConfig, world: ExtenderWorld, signal: AbortSignal): Promise<void> {
  const { transport, clock, ioClock, random, log } = world;
  const settings = scoringSettingsOf(config);
  const catalogue = await loadCatalogue(config.HARDWARE_CATALOG_PATH, log);
  const maxBodyBytes = config.EXTENDER_MAX_BODY_BYTES;
  const limits = { ...defaultServerLimits, ...world.limits };
  const budget = new MemoryBudget(2 * maxBodyBytes, limits.waiting);
  const metrics = new ProgramMetrics(ioClock);
  const figures = new ExtenderMetrics(metrics, ioClock, { silence: () => state.silence, budget });
  const state: ClusterCache = new ClusterCache({
    client: new KubeClient({ transport, clock: ioClock, random, fieldManager: NAME, userAgent: NAME }),
    clock: ioClock,
    random,
    log,
    settings,
    catalogue,
    cacheTtl: config.CACHE_TTL,
    onLeave: (name, slot) => figures.removeNode(name, slot),
  });
  const decisions = new DecisionLog(DECISIONS_KEPT);
  const decider = new Decider({
    state,
    decisions,
    metrics: figures,
    clock,
    onUnknownClass: reportOnce((text) =>
      log.warn({ code: WORKLOAD_CLASS, class: text }, "no workload class; its pods count as standard"),
    ),
  });
  const reader = new RequestReader(ioClock, settings.nodeLabels);
  // Before the first lists nothing is known of any node. Without an answer, kube-scheduler goes on by itself where the extender
  // is `ignorable`, and tries the pod again where it is not; an answer would let performance pods onto eco nodes.
  const unready = () => (state.unsynced.length === 0 ? undefined : `not read yet: ${state.unsynced.join(", ")}`);
  const ready = { synced: unready, staying: () => (signal.aborted ? "the extender stops" : undefined) };
  const eventLoop = eventLoopDelay(milliseconds(20));
  measureProcess(metrics, { process, clock: ioClock, eventLoop });
  let served: Served | undefined;
  let asked: SchedulerServer | undefined;
  try {
    served = await serve({
      address: config.METRICS_ADDR,
      metrics: {
        contentType: metrics.contentType,
        text: () => figures.render(state, clock.now(), settings),
      },
      log,
      clock: ioClock,
      ready,
    });
    asked = await serveScheduler({
      address: config.EXTENDER_ADDR,
      tls: tlsFilesOf(config),
      maxBodyBytes,
      budget,
      stalled: new StalledRequests(ioClock, () => budget.waiting > 0),
      buffers: new BodyBuffers(minorCollection),
      decide: (verb, body): ExtenderReply | Promise<ExtenderReply> => {
        const request = reader.read(body);
        return request instanceof Promise ? request.then((late) => decider[verb](late)) : decider[verb](request);
      },
      unreadyReason: unready,
      debugAccess: new DebugAccess({
        open: config.DEBUG_ENDPOINTS,
        tokens: new TokenAuthorizer({ transport, clock: ioClock, random, log, userAgent: NAME }),
      }),
      pages: extenderPages({ state, decisions, settings, clock, ioClock, ready }),
      metrics: figures,
      log,
      clock: ioClock,
      limits,
    });
    log.info({ url: asked.url, metrics: served.url }, "answering kube-scheduler at /filter and /prioritize");
    state.start();
    await until(signal);
    asked.stopKeepAlive();
    await ioClock.sleep(world.shutdownDelay ?? milliseconds(0));
  } finally {
    // First the answers under way, for which the state is still needed.
    await asked?.close();
    eventLoop.stop();
    await Promise.all([served?.close(), state.stop(), reader.close()]);
  }
}

const NAME = "joulie-extender";

/** Takes less than a millisecond. Node has `gc` only with --expose-gc (see `startOptions`): else bodies take more memory. */
const minorCollection = (): void => void globalThis.gc?.({ type: "minor", execution: "sync" });

const until = async (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
