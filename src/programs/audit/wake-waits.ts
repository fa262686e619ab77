import { type Instant, type Milliseconds, milliseconds } from "../../core/units/index.ts";

export interface WakeWaitFigures {
  readonly pods: number;
  /** In simulated seconds, from the operator's Event to the binding; undefined if no pod waited. */
  readonly longest: number | undefined;
  readonly longestPerformance: number | undefined;
  /** Performance pods that waited longer than the Event said, and the margin. */
  readonly late: number;
  readonly examples: readonly string[];
}

interface Wait {
  readonly since: Instant;
  readonly stated: Milliseconds;
  readonly performance: boolean;
  isLate: boolean;
}

const EXAMPLES = 5;
const STATED = /^waking node (\S+), about (\d+) min$/;
const MINUTE = 60_000;

export function statedWait(reason: string, note: string): Milliseconds | undefined {
  const minutes = reason === "WaitsForNode" ? STATED.exec(note)?.[2] : undefined;
  return minutes === undefined ? undefined : milliseconds(Number(minutes) * MINUTE);
}

export class WakeWaits {
  readonly #margin: () => Milliseconds;
  readonly #waiting = new Map<string, Wait>();
  #pods = 0;
  #longest: number | undefined;
  #longestPerformance: number | undefined;
  #late = 0;
  readonly #examples: string[] = [];

  /** `margin`: what a wait may exceed the stated time by, in simulated time. */
  constructor(margin: () => Milliseconds) {
    this.#margin = margin;
  }

  stated(pod: string, performance: boolean, stated: Milliseconds, at: Instant): void {
    if (this.#waiting.has(pod)) return;
    this.#waiting.set(pod, { since: at, stated, performance, isLate: false });
    this.#pods++;
  }

  bound(pod: string, at: Instant): void {
    const wait = this.#waiting.get(pod);
    if (wait === undefined) return;
    this.#measure(pod, wait, at);
    this.#waiting.delete(pod);
  }

  forget(pod: string): void {
    this.#waiting.delete(pod);
  }

  /** Also counts pods that still wait. */
  judge(now: Instant): void {
    for (const [pod, wait] of this.#waiting) this.#measure(pod, wait, now);
  }

  get figures(): WakeWaitFigures {
    return {
      pods: this.#pods,
      longest: this.#longest,
      longestPerformance: this.#longestPerformance,
      late: this.#late,
      examples: this.#examples,
    };
  }

  #measure(pod: string, wait: Wait, now: Instant): void {
    const waited = now - wait.since;
    this.#longest = Math.max(this.#longest ?? 0, waited / 1000);
    if (!wait.performance) return;
    this.#longestPerformance = Math.max(this.#longestPerformance ?? 0, waited / 1000);
    if (wait.isLate || waited <= wait.stated + this.#margin()) return;
    wait.isLate = true;
    this.#late++;
    if (this.#examples.length < EXAMPLES)
      this.#examples.push(`${pod} waited ${Math.round(waited / 1000)} s, stated were ${wait.stated / 1000} s`);
  }
}
