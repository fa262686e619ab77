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
import type { NodeRunner } from "./node-runner.ts";
import { rejectIfHung } from "./shutdown-times.ts";

export interface SingleNodeLoopOptions {
  readonly runner: NodeRunner;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly log: Logger;
  readonly changes: ChangeLog;
  readonly metrics: AgentMetrics;
  readonly interval: Milliseconds;
  readonly forceStop: AbortSignal;
  readonly onTick?: () => void;
}

const COALESCE = milliseconds(250);
/** After this many intervals without a tick the loop counts as stalled. */
const STALLED_INTERVALS = 5;
const MIN_STALLED = 300_000;

export class SingleNodeLoop {
  readonly #options: SingleNodeLoopOptions;
  #wake = Promise.withResolvers<void>();
  #lastTick: MonotonicInstant | undefined;

  constructor(options: SingleNodeLoopOptions) {
    this.#options = options;
  }

  request(): void {
    this.#wake.resolve();
  }

  get stalled(): string | undefined {
    const { clock, interval } = this.#options;
    return stalledFor(this.#lastTick, clock, interval);
  }

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
        // The loop goes on: the problem may be temporary.
        log.error({ err }, "tick failed; retrying at the next tick");
        metrics.recordFailedTick(runner.name);
      }
      changes.flush();
      this.#lastTick = clock.monotonic();
      await this.#untilNext(milliseconds(interval - elapsed(started, clock.monotonic())), signal);
    }
  }

  async #untilNext(wait: Milliseconds, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const woken = await endsWithin(clock, wait, this.#wake.promise, signal);
    if (woken) await clock.sleep(COALESCE, signal).catch(() => undefined);
  }
}

/** Why the loop counts as stalled; undefined if it does not. */
export function stalledFor(
  last: MonotonicInstant | undefined,
  clock: Clock,
  interval: Milliseconds,
): string | undefined {
  if (last === undefined) return undefined;
  const since = elapsed(last, clock.monotonic());
  return since > Math.max(STALLED_INTERVALS * interval, MIN_STALLED)
    ? `the last tick was ${Math.round(inSeconds(since))} s ago`
    : undefined;
}
