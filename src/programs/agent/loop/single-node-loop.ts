import {
  elapsed,
  inSeconds,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
} from "../../../core/units/index.ts";
import { type Clock, endsWithin } from "../../../platform/clock/index.ts";
import type { ChangeLog, Logger } from "../../../platform/log/index.ts";
import type { AgentMetrics } from "../report/agent-metrics.ts";
import { rejectIfHung } from "./deadlines.ts";
import type { NodeRunner } from "./node-runner.ts";

export interface SingleNodeLoopOptions {
  readonly runner: NodeRunner;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly log: Logger;
  readonly changes: ChangeLog;
  readonly metrics: AgentMetrics;
  readonly interval: Milliseconds;
  /** Breaks off a tick, some time after the loop is to end. */
  readonly forceStop: AbortSignal;
  /** After each tick. */
  readonly onTick?: () => void;
}

/** Changes that come within this time are one tick. */
const COALESCE = milliseconds(250);
/** A tick that is late by so many intervals will not come. */
const LATE_INTERVALS = 5;
const LATE_AT_LEAST = 300_000;

/** Ticks for one node: every interval, and soon after its target changes. */
export class SingleNodeLoop {
  readonly #options: SingleNodeLoopOptions;
  #wake = Promise.withResolvers<void>();
  #lastTick: MonotonicInstant | undefined;

  constructor(options: SingleNodeLoopOptions) {
    this.#options = options;
  }

  /** Asks for a tick soon. */
  request(): void {
    this.#wake.resolve();
  }

  get stalled(): string | undefined {
    const { clock, interval } = this.#options;
    return stalledFor(this.#lastTick, clock, interval);
  }

  /** Until the signal ends it; what is under way then has a while to end. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, ioClock, runner, metrics, changes, log, interval, forceStop, onTick } = this.#options;
    while (!signal.aborted) {
      const started = clock.monotonic();
      this.#wake = Promise.withResolvers();
      try {
        await rejectIfHung(runner.tick(forceStop), forceStop, ioClock);
        onTick?.();
      } catch (err) {
        if (signal.aborted) return;
        // One that cannot be finished must not be the last: what is wrong may pass.
        log.error({ err }, "a tick failed; the next one tries again");
        metrics.recordFailedTick(runner.name);
      }
      changes.flush();
      this.#lastTick = clock.monotonic();
      await this.#untilNext(milliseconds(interval - elapsed(started, clock.monotonic())), signal);
    }
  }

  async #untilNext(rest: Milliseconds, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const woken = await endsWithin(clock, rest, this.#wake.promise, signal);
    if (woken) await clock.sleep(COALESCE, signal).catch(() => undefined);
  }
}

/** Why ticks seem to stand still; undefined when they do not. */
export function stalledFor(
  last: MonotonicInstant | undefined,
  clock: Clock,
  interval: Milliseconds,
): string | undefined {
  if (last === undefined) return undefined;
  const since = elapsed(last, clock.monotonic());
  return since > Math.max(LATE_INTERVALS * interval, LATE_AT_LEAST)
    ? `the last tick was ${Math.round(inSeconds(since))} s ago`
    : undefined;
}
