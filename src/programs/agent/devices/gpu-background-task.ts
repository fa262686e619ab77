import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Clock, endsWithin } from "../../../platform/clock/index.ts";
import type { NodePowerReadings, PowerWithoutGpus } from "../telemetry/node-power.ts";
import type { DeviceReport } from "./device-report.ts";

/** How long a tick waits for a GPU driver; a working driver or tool answers sooner. */
export const TICK_TIMEOUT = milliseconds(5000);
/** How long a tick waits that sets no cap: it must not delay the first CPU cap. */
export const HOLD_TIMEOUT = milliseconds(1000);
/** At shutdown the agent aborts running ticks after 5 s; this is a little longer. */
const RELEASE_TIMEOUT = milliseconds(6500);

const NO_ANSWER = "the GPU driver has not answered yet";

export interface GpuTickResult {
  readonly power: NodePowerReadings;
  readonly gpu?: DeviceReport | undefined;
  /** The driver has not answered in this tick: `gpu` is the result of an earlier one. */
  readonly isLate?: true;
}

/** Runs the GPU part of a tick with a timeout. A slow driver call goes on in the background, and no other one starts meanwhile. */
export class GpuBackgroundTask {
  readonly #clock: Clock;
  readonly #onFirstAnswer: () => void;
  #running: Promise<void> | undefined;
  #answered = false;
  #last: DeviceReport | undefined;

  /** `onFirstAnswer` is called when a driver that was slow to start has answered: a tick should cap its GPUs now. */
  constructor(clock: Clock, onFirstAnswer: () => void = () => undefined) {
    this.#clock = clock;
    this.#onFirstAnswer = onFirstAnswer;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Without a timeout it waits to the end: HTTP services have their own timeout. */
  async run(
    timeout: Milliseconds | undefined,
    known: PowerWithoutGpus,
    part: () => Promise<GpuTickResult>,
  ): Promise<GpuTickResult> {
    if (this.#running === undefined) {
      if (timeout === undefined) return part();
      const work = part();
      this.#running = this.#remember(work);
      if (await endsWithin(this.#clock, timeout, work)) {
        this.#answered = true;
        return work;
      }
      // Only once: a driver that is always slow must not cause extra ticks.
      if (!this.#answered) void this.#running.then(this.#onFirstAnswer);
      this.#answered = true;
    }
    const gpu = { boards: new Map(), since: this.#clock.monotonic(), missing: NO_ANSWER };
    const last = this.#last ?? { backend: "none", result: "none", message: NO_ANSWER };
    return { power: { ...known, gpu }, gpu: last, isLate: true };
  }

  /** Waits for a running call before a restore: it would overwrite the restored limit. A hung call is not waited for. */
  async settled(): Promise<void> {
    if (this.#running !== undefined) await endsWithin(this.#clock, RELEASE_TIMEOUT, this.#running);
    this.#running = undefined;
  }

  async #remember(work: Promise<GpuTickResult>): Promise<void> {
    try {
      this.#last = (await work).gpu;
    } catch {
      // The caller that awaits `work` gets the error.
    } finally {
      this.#running = undefined;
    }
  }
}
