import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Clock, endsWithin } from "../../../platform/clock/index.ts";
import type { NodePower, PowerWithoutGpus } from "../telemetry/node-power.ts";
import type { DeviceReport } from "./device-report.ts";

/** How long a tick waits for a GPU driver: one that works, or its tool, answers sooner. */
export const TICK_TIMEOUT = milliseconds(5000);
/** The same of a tick that sets nothing: the first cap of the CPUs comes after it. */
export const HOLD_TIMEOUT = milliseconds(1000);
/** The agent breaks off what is under way 5 s after it was told to end. */
const RELEASE_TIMEOUT = milliseconds(6500);

const NO_ANSWER = "the GPUs' driver has not answered yet";

/** What a tick came to on the GPUs. */
export interface GpuTickResult {
  readonly power: NodePower;
  readonly gpu?: DeviceReport | undefined;
}

/**
 * The GPUs' part of a tick, waited for as long as a driver that works takes. One that takes longer goes on by itself, and no other
 * is begun before its end: until then status tells what the last one found.
 */
export class GpuBackgroundTask {
  readonly #clock: Clock;
  readonly #onFirstAnswer: () => void;
  #underWay: Promise<void> | undefined;
  #answered = false;
  #last: DeviceReport | undefined;

  /** `onFirstAnswer`: a driver that was slow to start has answered; a tick is due that caps its GPUs. */
  constructor(clock: Clock, onFirstAnswer: () => void = () => undefined) {
    this.#clock = clock;
    this.#onFirstAnswer = onFirstAnswer;
  }

  get isRunning(): boolean {
    return this.#underWay !== undefined;
  }

  /** Without a patience it is waited for to its end: a service has a time limit of its own. */
  async run(
    patience: Milliseconds | undefined,
    known: PowerWithoutGpus,
    part: () => Promise<GpuTickResult>,
  ): Promise<GpuTickResult> {
    if (this.#underWay === undefined) {
      if (patience === undefined) return part();
      const work = part();
      this.#underWay = this.#remember(work);
      if (await endsWithin(this.#clock, patience, work)) {
        this.#answered = true;
        return work;
      }
      // Only once: a driver that is always slow must not speed up the ticks.
      if (!this.#answered) void this.#underWay.then(this.#onFirstAnswer);
      this.#answered = true;
    }
    const gpu = { boards: new Map(), since: this.#clock.monotonic(), missing: NO_ANSWER };
    return { power: { ...known, gpu }, gpu: this.#last ?? { backend: "none", result: "none", message: NO_ANSWER } };
  }

  /** What a tick still does to a GPU would undo its restoration; what never ends does nothing. */
  async settled(): Promise<void> {
    if (this.#underWay !== undefined) await endsWithin(this.#clock, RELEASE_TIMEOUT, this.#underWay);
    this.#underWay = undefined;
  }

  async #remember(work: Promise<GpuTickResult>): Promise<void> {
    try {
      this.#last = (await work).gpu;
    } catch {
      // Whoever waits for it is told.
    } finally {
      this.#underWay = undefined;
    }
  }
}
