import process from "node:process";
import {
  elapsed,
  inSeconds,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  type Seconds,
  seconds,
} from "../../core/units/index.ts";
import {
  type EventLoopDelay,
  type EventLoopDelayStats,
  eventLoopDelay,
  type ScaledClock,
  systemClock,
  type ThreadLoad,
  threadLoad,
} from "../../platform/clock/index.ts";
import { KubeClient, type Transport } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { systemRandom } from "../../platform/random/index.ts";
import type { Started } from "./cast.ts";
import { checksOf } from "./checks.ts";
import type { DemoConfig } from "./config.ts";
import type { Frame } from "./frame.ts";
import { JudgedTime } from "./judged-time.ts";
import { News } from "./news.ts";
import { Observer, type ObserverOptions } from "./observer.ts";
import { Pace } from "./pace.ts";
import { DecisionsPage } from "./pages.ts";
import { every } from "./rounds.ts";
import type { Summary } from "./summary.ts";

export interface StageOptions extends Pick<Started, "simulator" | "addresses" | "intervals"> {
  readonly config: DemoConfig;
  readonly transport: Transport;
  readonly clock: ScaledClock;
  readonly log: Logger;
  readonly began: MonotonicInstant;
  /** How busy the API is. */
  readonly planeLoad: ThreadLoad;
  readonly askedAt: ObserverOptions["askedAt"];
  readonly onNotice: (text: string) => void;
}

/** How often power is looked at, in simulated seconds, and at most so often in real time. */
const SAMPLE = seconds(2);
const SAMPLE_AT_MOST = milliseconds(20);
/** A meter that could not look for longer knows nothing of that time: it would have missed too much. */
const LONGEST_GAP = seconds(4 * SAMPLE);
const LOOK = milliseconds(1000);
/** Simulated seconds of work in which some node is let go, and the jobs it waits for end: they take a quarter of an hour or so. */
const LONG = 1800;
/** With fewer the number of performance nodes hardly moves. */
const MANY = 20;
/** The jobs that are there at the start come all at once: what that takes says nothing about the speed; not for long, though. */
const FIRST_JOBS = { least: milliseconds(3000), perNode: milliseconds(50) };
/** Some job has always just come. */
const JUST_COME = milliseconds(1000);
const NEWS = 8;
const EXAMPLES = 5;
/** A publication goes to each of its watches by a way of its own: real time, a busy process taken into account. */
const HEARING = milliseconds(500);
/** Ticks of the agent in which a new cap is surely in force. */
const AGENT_TICKS = 3;

/** The running cluster, as it is watched: what the view shows, what the summary says, and whether all promises are kept. */
export class Stage {
  readonly observer: Observer;
  readonly #options: StageOptions;
  readonly #news = new News();
  readonly #page: DecisionsPage;
  readonly #pace: Pace;
  readonly #judgedTime = new JudgedTime();
  readonly #load = threadLoad();
  readonly #eventLoop: EventLoopDelay = eventLoopDelay(milliseconds(20));
  readonly #notices: string[] = [];
  /** When every node had its twin, and the jobs were let in. */
  #begun: MonotonicInstant | undefined;
  /** When the jobs that were there at the start had been tried, and what the process had cost by then. */
  #placed: { readonly at: MonotonicInstant; readonly cpu: NodeJS.CpuUsage; readonly seconds: Seconds } | undefined;
  /** Of each second. */
  readonly #delays: EventLoopDelayStats[] = [];

  constructor(options: StageOptions) {
    const { transport, clock, log, simulator, addresses, intervals, onNotice } = options;
    this.#options = options;
    this.#page = new DecisionsPage(addresses.decisions);
    this.#pace = new Pace(clock, (text) => {
      this.#notices.push(text);
      onNotice(text);
    });
    this.observer = new Observer({
      client: new KubeClient({
        transport,
        clock: systemClock,
        random: systemRandom,
        fieldManager: "joulie-demo",
        userAgent: "joulie-demo",
      }),
      clock,
      ioClock: systemClock,
      random: systemRandom,
      log,
      datacenter: simulator.datacenter,
      stale: intervals.stale,
      settling: milliseconds(AGENT_TICKS * intervals.agent),
      askedAt: options.askedAt,
      hearing: () => milliseconds(HEARING * clock.speed),
      onEvent: (event) => this.#news.nodeDecided(event, clock.now()),
    });
  }

  start(): void {
    this.observer.start();
  }

  /** Watches until the signal, once the cluster has its jobs. */
  async watch(signal: AbortSignal): Promise<void> {
    this.#eventLoop.reset();
    this.#begun = systemClock.monotonic();
    await Promise.all([
      every(this.#samplePeriod, systemClock, signal, () => this.observer.sampleEnergy(LONGEST_GAP)),
      every(LOOK, systemClock, signal, () => this.observer.look()),
      // Each in rounds of its own: where one of them takes long, the others are not late as well.
      every(LOOK, systemClock, signal, () => this.#observePace()),
      every(LOOK, systemClock, signal, async () => this.#news.podsDecided(await this.#page.latest())),
    ]);
  }

  async close(): Promise<void> {
    this.#eventLoop.stop();
    await Promise.all([this.observer.stop(), this.#page.close()]);
  }

  get frame(): Frame {
    const { clock, config, simulator, began } = this.#options;
    const { observer } = this;
    const { watts, joules } = simulator.datacenter.totals;
    return {
      time: clock.now(),
      speed: clock.speed,
      running: elapsed(began, systemClock.monotonic()),
      duration: config.DURATION,
      power: { drawn: watts, ...observer.budget },
      pue: simulator.datacenter.facility().pue,
      classes: observer.classes,
      drains: observer.history.drains,
      draining: observer.draining,
      pods: observer.pods,
      energy: joules,
      news: this.#news.latest(NEWS),
      notice: this.#notices.at(-1),
    };
  }

  /** `interrupted`: somebody has ended it, maybe before everything was there. */
  summary(interrupted: boolean): Summary {
    const { config, clock, simulator, began } = this.#options;
    const { POLICY: policy, SEED: seed } = config;
    const { observer } = this;
    const { watts, joules, sampledJoules, seconds: simulatedSeconds } = simulator.datacenter.totals;
    const { pods, podSeconds, first } = simulator.datacenter.offences;
    const examples = first.slice(0, EXAMPLES).map(({ pod, node, at }) => `${pod} on ${node} after ${at.toFixed(1)} s`);
    const { capped, uncapped } = observer.budget;
    const [long, many] = [this.#worked >= LONG, simulator.datacenter.size >= MANY];
    const checks = checksOf({
      expected: {
        twins: this.#begun !== undefined || !interrupted,
        drains: long && many && policy === "queue_aware_v1",
        figures: long && many,
      },
      twins: observer.twins,
      drains: observer.history.drains,
      placements: observer.placements.figures,
      offences: { pods, podSeconds, examples },
      caps: observer.caps.figures,
      energy: { integralJoules: joules, sampledJoules, meter: observer.energy.figures },
    });
    return {
      ok: checks.every(({ ok }) => ok),
      nodes: simulator.datacenter.size,
      policy,
      seed,
      seconds: inSeconds(elapsed(began, systemClock.monotonic())),
      simulatedSeconds,
      speed: { asked: this.#pace.asked, last: clock.speed },
      classes: observer.classes,
      drains: observer.history.drains,
      pods: observer.pods,
      power: { watts, cappedWatts: capped, uncappedWatts: uncapped },
      energy: { joules, pue: simulator.datacenter.facility().pue },
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

  /** Simulated time since the first jobs were tried. */
  get #worked(): Seconds {
    if (this.#placed === undefined) return seconds(0);
    const { at, seconds: from } = this.#placed;
    const passed = seconds(this.#options.simulator.datacenter.now - from);
    const real = inSeconds(elapsed(at, systemClock.monotonic()));
    return this.#judgedTime.of(passed, seconds(real * this.#pace.asked));
  }

  /** How long after the beginning something was, in seconds. */
  #since(at: MonotonicInstant | undefined): number | undefined {
    return at === undefined ? undefined : inSeconds(elapsed(this.#options.began, at));
  }

  get #cores(): number | undefined {
    if (this.#placed === undefined) return undefined;
    const { user, system } = process.cpuUsage(this.#placed.cpu);
    return (user + system) / 1000 / elapsed(this.#placed.at, systemClock.monotonic());
  }

  get #samplePeriod(): Milliseconds {
    return milliseconds(Math.max(SAMPLE_AT_MOST, (1000 * SAMPLE) / this.#options.clock.speed));
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
    const load = Math.max(this.#load(), this.#options.planeLoad());
    if (delay === undefined || !this.#firstJobsPlaced()) return;
    this.#delays.push(delay);
    const { oldest } = this.observer.twins;
    const { clock, intervals } = this.#options;
    const before = clock.speed;
    this.#pace.observe({
      delay: delay.p50,
      unseen: inSeconds(this.observer.unseen),
      lateness: oldest === undefined ? undefined : oldest / intervals.heartbeat,
    });
    this.#judgedTime.observe(load, clock.speed < before);
  }
}

const medianOf = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
