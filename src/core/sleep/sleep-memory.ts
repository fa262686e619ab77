import { type Instant, instant, type Milliseconds } from "../units/index.ts";
import type { SleepNode } from "./sleep-node.ts";

type Times = ReadonlyMap<string, Instant>;

/** Remembered from pass to pass. After a restart every node counts as empty from then on, so nothing sleeps too early. */
export interface SleepMemory {
  /** Nodes that are on and have no pods, and since when, by uid. */
  readonly emptySince: Times;
  /** Nodes that were asked to wake and are not on yet, and since when, by uid. */
  readonly wakingSince: Times;
  /** Nodes that started to sleep during the last minute, by uid. */
  readonly sleeps: Times;
  /** Nodes that started to wake during the last minute, by uid. */
  readonly wakes: Times;
  /** Pods that wait although they fit on awake nodes, and since when, by shape. */
  readonly fitsSince: Times;
  /** With `recommend`: nodes that would be asleep. */
  readonly recommended: ReadonlySet<string>;
  /** When arrivals were first observed, by this process or by an earlier one that stored them. */
  readonly since: Instant | undefined;
}

const noTimes: Times = new Map();

export const emptySleepMemory: SleepMemory = {
  emptySince: noTimes,
  wakingSince: noTimes,
  sleeps: noTimes,
  wakes: noTimes,
  fitsSince: noTimes,
  recommended: new Set(),
  since: undefined,
};

/** Arrivals are known from `since` on. */
export const withArrivalsSince = (memory: SleepMemory, since: Instant): SleepMemory => ({
  ...memory,
  since: instant(Math.min(memory.since ?? since, since)),
});

/** A new term of this replica: what happened since its last one is unknown, so every time starts again. */
export const withNewTerm = (memory: SleepMemory): SleepMemory => ({
  ...memory,
  emptySince: noTimes,
  wakingSince: noTimes,
  fitsSince: noTimes,
});

/** The clock was set forward (or back, below 0) by this much: what was observed becomes neither older nor younger. */
export function withClockSet(memory: SleepMemory, by: Milliseconds): SleepMemory {
  const shifted = (times: Times): Times => new Map(Array.from(times, ([key, at]) => [key, instant(at + by)]));
  return {
    ...memory,
    emptySince: shifted(memory.emptySince),
    wakingSince: shifted(memory.wakingSince),
    sleeps: shifted(memory.sleeps),
    wakes: shifted(memory.wakes),
    fitsSince: shifted(memory.fitsSince),
    since: memory.since === undefined ? undefined : instant(memory.since + by),
  };
}

const MINUTE = 60_000;

/** Records what one plan observes and decides, on top of the memory of the last one. */
export class SleepRecorder {
  readonly #last: SleepMemory;
  readonly #emptySince = new Map<string, Instant>();
  readonly #wakingSince = new Map<string, Instant>();
  readonly #sleeps: Map<string, Instant>;
  readonly #wakes: Map<string, Instant>;
  #fitsSince: Times;
  readonly #now: Instant;
  readonly since: Instant;

  /** `current` is whether pods can be read. Without them no node counts as empty. */
  constructor(last: SleepMemory, nodes: readonly SleepNode[], current: boolean, now: Instant) {
    this.#last = last;
    this.#now = now;
    this.since = instant(Math.min(last.since ?? now, now));
    const earlier = (times: Times, key: string) => instant(Math.min(times.get(key) ?? now, now));
    for (const { uid, wanted, state, ready, pods } of nodes) {
      const isEmpty = current && wanted === "on" && state === "on" && ready && pods === 0;
      if (isEmpty) this.#emptySince.set(uid, earlier(last.emptySince, uid));
      const isWaking = wanted === "on" && state !== "on" && state !== "failed";
      if (isWaking) this.#wakingSince.set(uid, earlier(last.wakingSince, uid));
    }
    const lastMinute = (times: Times) => new Map(Array.from(times).filter(([, at]) => Math.abs(now - at) < MINUTE));
    this.#sleeps = lastMinute(last.sleeps);
    this.#wakes = lastMinute(last.wakes);
    this.#fitsSince = last.fitsSince;
  }

  /** Records since when pods of these shapes fit on awake nodes; other shapes are forgotten. */
  fitSince(shapes: readonly string[]): readonly Instant[] {
    const since = shapes.map((shape) => instant(Math.min(this.#fitsSince.get(shape) ?? this.#now, this.#now)));
    this.#fitsSince = new Map(shapes.map((shape, index) => [shape, since[index] ?? this.#now]));
    return since;
  }

  isEmptyFor(uid: string, length: Milliseconds): boolean {
    const since = this.#emptySince.get(uid);
    return since !== undefined && this.#now - since >= length;
  }

  /** Whether the node has been on its way to on for longer than this. */
  isWakingFor(uid: string, length: Milliseconds): boolean {
    const since = this.#wakingSince.get(uid);
    return since !== undefined && this.#now - since > length;
  }

  /** Whether the node may start to sleep or wake within the limit per minute. If so, it counts. */
  start(what: "sleep" | "wake", uid: string, limit: number): boolean {
    const times = what === "sleep" ? this.#sleeps : this.#wakes;
    // A decision that was not written yet counts once.
    if (!times.has(uid) && times.size >= limit) return false;
    if (!times.has(uid)) times.set(uid, this.#now);
    return true;
  }

  get memory(): SleepMemory {
    return {
      emptySince: this.#emptySince,
      wakingSince: this.#wakingSince,
      sleeps: this.#sleeps,
      wakes: this.#wakes,
      fitsSince: this.#fitsSince,
      recommended: this.#last.recommended,
      since: this.since,
    };
  }
}
