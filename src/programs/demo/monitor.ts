import process from "node:process";
import {
  elapsed,
  inSeconds,
  type MonotonicInstant,
  milliseconds,
  type Seconds,
  seconds,
} from "../../core/units/index.ts";
import {
  type EventLoopDelay,
  type EventLoopDelayStats,
  eventLoopDelay,
  repeatEvery,
  type ScaledClock,
  systemClock,
} from "../../platform/clock/index.ts";
import type { Transport } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { systemRandom } from "../../platform/random/index.ts";
import { ClusterObserver } from "../audit/index.ts";
import { type DemoConfig, policyOf, wantedSpeed } from "./config.ts";
import { clientOf, DEMO_NAMESPACE } from "./demo-cluster.ts";
import type { RunningPrograms } from "./programs.ts";
import { observes, sleeps } from "./settings.ts";
import { SpeedLimiter } from "./speed-limiter.ts";
import { type DemoStatus, SavingsPage } from "./status-line.ts";
import type { DemoSummary } from "./summary.ts";

export interface DemoMonitorOptions extends Pick<RunningPrograms, "simulator" | "dashboard" | "intervals"> {
  readonly config: DemoConfig;
  readonly transport: Transport;
  readonly clock: ScaledClock;
  readonly log: Logger;
  readonly began: MonotonicInstant;
  readonly onNotice: (text: string) => void;
}

const POLL_INTERVAL = milliseconds(1000);
/** Simulated seconds after which at least one drain should have completed: jobs take about a quarter of an hour. */
const LONG = 1800;
/** In smaller clusters the number of performance nodes hardly changes. */
const MANY = 20;
/** All initial jobs arrive at once, so their scheduling delay says nothing about the speed for this long. */
const FIRST_JOBS = { least: milliseconds(3000), perNode: milliseconds(50) };
/** Jobs younger than this do not count as waiting. */
const JUST_COME = milliseconds(1000);
/** From the arrival of a pod until the switch acts, and from a ready node until the pod is bound; as the operator reckons. */
const BESIDE_WAKE = milliseconds(90_000);
/** The operator states whole minutes, and calls take real time, which is longer in simulated time. */
const WAKE_MARGIN = milliseconds(3000);
/** Agent reconcile intervals after which a new cap must be enforced. */
const AGENT_TICKS = 3;

export class DemoMonitor {
  readonly observer: ClusterObserver;
  readonly #options: DemoMonitorOptions;
  readonly #savings: SavingsPage;
  readonly #pace: SpeedLimiter;
  readonly #eventLoop: EventLoopDelay = eventLoopDelay(milliseconds(20));
  readonly #notices: string[] = [];
  /** Tolerances in real time last longest in simulated time at the highest speed of the run. */
  #fastest: number;
  readonly #firstSpeed: number;
  /** When the speed was last read, on both clocks, and what it was. */
  #read: { readonly real: number; readonly simulated: number };
  #reached = 1;
  /** When every node had a twin and scheduling started. */
  #begun: MonotonicInstant | undefined;
  /** When every initial job had its first scheduling attempt, and the CPU usage until then. */
  #placed: { readonly at: MonotonicInstant; readonly cpu: NodeJS.CpuUsage; readonly seconds: Seconds } | undefined;
  readonly #delays: EventLoopDelayStats[] = [];

  constructor(options: DemoMonitorOptions) {
    const { transport, clock, log, simulator, dashboard, intervals, onNotice } = options;
    this.#options = options;
    this.#savings = new SavingsPage(dashboard);
    const say = (text: string) => {
      this.#notices.push(text);
      onNotice(text);
    };
    this.#pace = new SpeedLimiter(clock, say, wantedSpeed(options.config));
    this.#fastest = clock.speed;
    this.#firstSpeed = clock.speed;
    this.#read = { real: systemClock.monotonic(), simulated: clock.monotonic() };
    this.observer = new ClusterObserver({
      client: clientOf(transport),
      clock,
      ioClock: systemClock,
      random: systemRandom,
      log,
      datacenter: simulator.datacenter,
      namespace: DEMO_NAMESPACE,
      stale: intervals.stale,
      observes: observes(options.config),
      settling: milliseconds(AGENT_TICKS * intervals.agent),
      wakeMargin: () => milliseconds(BESIDE_WAKE + WAKE_MARGIN * this.#fastest),
    });
  }

  start(): void {
    this.observer.start();
  }

  /** Lowers the speed while this machine cannot keep up, from the first second: otherwise twins may never be fresh. */
  async keepPace(signal: AbortSignal): Promise<void> {
    await repeatEvery(POLL_INTERVAL, systemClock, signal, () => this.#observePace());
  }

  async watch(signal: AbortSignal): Promise<void> {
    this.#eventLoop.reset();
    this.#begun = systemClock.monotonic();
    await Promise.all([
      repeatEvery(POLL_INTERVAL, systemClock, signal, () => this.observer.runPeriodicChecks()),
      // Separate loops, so that a slow task does not delay the others.
      repeatEvery(POLL_INTERVAL, systemClock, signal, async () => this.#savings.read()),
    ]);
  }

  async close(): Promise<void> {
    this.#eventLoop.stop();
    await Promise.all([this.observer.stop(), this.#savings.close()]);
  }

  get status(): DemoStatus {
    const { clock, config, simulator, began } = this.#options;
    const { observer } = this;
    return {
      time: clock.now(),
      speed: { reached: clock.speed * this.#reached, wanted: this.#pace.requestedSpeed },
      running: elapsed(began, systemClock.monotonic()),
      duration: config.DURATION,
      power: { drawn: simulator.datacenter.totals.watts, capped: observer.budget.capped },
      pue: simulator.datacenter.facility().pue,
      classes: observer.classes,
      betweenStates: observer.betweenStates,
      sleep: sleeps(config) ? observer.sleepFigures : undefined,
      drains: policyOf(config) === "fit_aware_v1" ? undefined : observer.drains.counts,
      pods: observer.pods,
      energy: this.#savings.latest,
      notice: clock.speed < this.#firstSpeed ? this.#notices.at(-1) : undefined,
    };
  }

  /** `interrupted`: the user ended the demo, possibly before it was fully started. */
  summary(interrupted: boolean): DemoSummary {
    const { config, clock, simulator, began } = this.#options;
    const { PRESET: preset, SEED: seed } = config;
    const policy = policyOf(config);
    const { observer } = this;
    const { watts, wall, alwaysOn, seconds: simulatedSeconds } = simulator.datacenter.totals;
    const { capped, uncapped } = observer.budget;
    const [long, many] = [this.#worked >= LONG, simulator.datacenter.size >= MANY];
    const checks = observer.checks({
      twins: this.#begun !== undefined || !interrupted,
      drains: policy === "fit_aware_v1" ? undefined : long && many && policy === "queue_aware_v1",
      figures: long && many,
      any: !interrupted,
      sleep: sleeps(config) ? long && many : undefined,
    });
    return {
      ok: checks.every(({ ok }) => ok),
      nodes: simulator.datacenter.size,
      preset,
      policy,
      seed,
      seconds: inSeconds(elapsed(began, systemClock.monotonic())),
      simulatedSeconds,
      speed: { asked: this.#pace.requestedSpeed, last: clock.speed },
      classes: observer.classes,
      drains: observer.drains.counts,
      ...(sleeps(config) && { sleep: observer.sleepFigures }),
      pods: observer.pods,
      power: { watts, cappedWatts: capped, uncappedWatts: uncapped },
      energy: {
        account: this.#savings.latest,
        simulated: { wallJoules: wall.joules, alwaysOnJoules: alwaysOn.joules },
        pue: simulator.datacenter.facility().pue,
      },
      ready: { twins: this.#since(this.#begun), jobs: this.#since(this.#placed?.at) },
      cores: this.#cores,
      memory: { rssBytes: process.memoryUsage.rss(), peakRssBytes: process.resourceUsage().maxRSS * 1024 },
      eventLoop: {
        medianMs: medianOf(this.#delays.map(({ p50 }) => p50)),
        worstMs: Math.max(0, ...this.#delays.map(({ longest }) => longest)),
      },
      notices: this.#notices,
      checks,
    };
  }

  get #worked(): Seconds {
    if (this.#placed === undefined) return seconds(0);
    return seconds(this.#options.simulator.datacenter.now - this.#placed.seconds);
  }

  #since(at: MonotonicInstant | undefined): number | undefined {
    return at === undefined ? undefined : inSeconds(elapsed(this.#options.began, at));
  }

  get #cores(): number | undefined {
    if (this.#placed === undefined) return undefined;
    const { user, system } = process.cpuUsage(this.#placed.cpu);
    return (user + system) / 1000 / elapsed(this.#placed.at, systemClock.monotonic());
  }

  #firstJobsPlaced(): boolean {
    const longest = FIRST_JOBS.least + FIRST_JOBS.perNode * this.#options.simulator.datacenter.size;
    const now = systemClock.monotonic();
    if (this.#placed !== undefined) return true;
    if (this.observer.unseen > JUST_COME && elapsed(this.#begun ?? now, now) <= longest) return false;
    this.#placed = { at: now, cpu: process.cpuUsage(), seconds: this.#options.simulator.datacenter.now };
    return true;
  }

  #observePace(): void {
    const delay = this.#eventLoop.read();
    this.#eventLoop.reset();
    if (delay === undefined) return;
    // While everything starts at once, only twins say whether the speed is too high.
    const isStarting = this.#begun === undefined || !this.#firstJobsPlaced();
    if (!isStarting) this.#delays.push(delay);
    const { oldest } = this.observer.twins;
    const { clock, intervals } = this.#options;
    this.#readSpeed();
    this.#pace.observe({
      // What waits while time stands still does not fall behind.
      delay: isStarting ? 0 : delay.p50 * this.#reached,
      unseen: isStarting ? 0 : inSeconds(this.observer.unseen) * this.#reached,
      lateness: oldest === undefined ? undefined : oldest / intervals.heartbeat,
      isStarting,
      reached: this.#reached,
    });
    this.#fastest = Math.max(this.#fastest, clock.speed);
  }

  #readSpeed(): void {
    const { clock } = this.#options;
    const before = this.#read;
    this.#read = { real: systemClock.monotonic(), simulated: clock.monotonic() };
    const possible = (this.#read.real - before.real) * clock.speed;
    if (possible > 0) this.#reached = Math.min(1, (this.#read.simulated - before.simulated) / possible);
  }
}

const medianOf = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
