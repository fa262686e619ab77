import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { backoffDelay } from "../../backoff/index.ts";
import type { Clock, Timer } from "../../clock/index.ts";
import type { SchedulerPod } from "./cluster-view.ts";

const BACKOFF = { first: milliseconds(1000), longest: milliseconds(10_000) };
/** Retries an unschedulable pod after this time even without a relevant change. */
const LEFTOVER = milliseconds(300_000);

interface Waiting {
  pod: SchedulerPod;
  attempts: number;
  /** End of the backoff, on the monotonic clock. */
  readyAt: number;
  place: "active" | "backoff" | "unschedulable";
  timer: Timer | undefined;
}

/** Unscheduled pods: active ones by priority and arrival, ones in backoff, and ones that wait for a cluster change. */
export class WaitingPods {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiting>();
  /** Priority → pods in arrival order. A Map preserves the order and deletes cheaply. */
  readonly #active = new Map<number, Map<string, Waiting>>();
  readonly #wake: () => void;

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Queues a new or changed pod. */
  offer(pod: SchedulerPod): void {
    const known = this.#waiting.get(pod.key);
    if (known !== undefined && known.pod.uid === pod.uid) {
      const asksOtherwise = known.pod.waiting?.shape !== pod.waiting?.shape;
      known.pod = pod;
      if (asksOtherwise && known.place === "unschedulable") this.#ready(pod.key, known);
      return;
    }
    this.forget(pod.key);
    this.#activate(pod.key, { pod, attempts: 0, readyAt: 0, place: "active", timer: undefined });
  }

  forget(key: string): void {
    const known = this.#waiting.get(key);
    if (known === undefined) return;
    known.timer?.cancel();
    this.#deactivate(key, known);
    this.#waiting.delete(key);
  }

  /** Removes and returns the next pod. The caller requeues it with `fail`. */
  next(): { readonly pod: SchedulerPod; readonly attempts: number } | undefined {
    let best: number | undefined;
    for (const priority of this.#active.keys()) if (best === undefined || priority > best) best = priority;
    const first = best === undefined ? undefined : this.#active.get(best)?.entries().next().value;
    if (first === undefined) return undefined;
    const [key, { pod, attempts }] = first;
    this.forget(key);
    return { pod, attempts };
  }

  /** Requeues a pod after a failed attempt; with `retry` after its backoff, else after a relevant change. */
  fail(pod: SchedulerPod, attempts: number, retry: boolean): void {
    this.forget(pod.key);
    const length = backoffDelay(attempts + 1, BACKOFF);
    const waiting: Waiting = {
      pod,
      attempts: attempts + 1,
      readyAt: this.#clock.monotonic() + length,
      place: retry ? "backoff" : "unschedulable",
      timer: undefined,
    };
    this.#waiting.set(pod.key, waiting);
    this.#arm(pod.key, waiting, retry ? length : LEFTOVER);
  }

  /** Retries the unschedulable pods that a change may help, after their backoff. */
  retryWhere(helps: (pod: SchedulerPod) => boolean): void {
    for (const [key, waiting] of this.#waiting) {
      if (waiting.place === "unschedulable" && helps(waiting.pod)) this.#ready(key, waiting);
    }
  }

  clear(): void {
    for (const { timer } of this.#waiting.values()) timer?.cancel();
    this.#waiting.clear();
    this.#active.clear();
  }

  /** Activates the pod when its backoff ends. */
  #ready(key: string, waiting: Waiting): void {
    waiting.timer?.cancel();
    const left = waiting.readyAt - this.#clock.monotonic();
    if (left <= 0) {
      this.#activate(key, waiting);
      return;
    }
    waiting.place = "backoff";
    this.#arm(key, waiting, milliseconds(left));
  }

  #arm(key: string, waiting: Waiting, length: Milliseconds): void {
    waiting.timer = this.#clock.after(length, () => this.#activate(key, waiting), { background: true });
  }

  #activate(key: string, waiting: Waiting): void {
    waiting.place = "active";
    waiting.timer = undefined;
    this.#waiting.set(key, waiting);
    const priority = waiting.pod.waiting?.priority ?? 0;
    const peers = this.#active.get(priority) ?? new Map<string, Waiting>();
    this.#active.set(priority, peers.set(key, waiting));
    this.#wake();
  }

  #deactivate(key: string, { pod }: Waiting): void {
    const priority = pod.waiting?.priority ?? 0;
    const peers = this.#active.get(priority);
    peers?.delete(key);
    if (peers?.size === 0) this.#active.delete(priority);
  }
}
