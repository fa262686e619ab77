import { type Instant, instant, type Milliseconds } from "../units/index.ts";
import type { SleepNode } from "./sleep-node.ts";

const MINUTE = 60_000;

/**
 * What a sleep plan remembers from pass to pass. After a restart, and in a new term, every node counts as empty from then on, so
 * nothing sleeps too early. A pass with the same input changes nothing.
 */
export class SleepMemory {
  /** Nodes that are on and have no pods, and since when, by uid. */
  readonly #emptySince = new Map<string, Instant>();
  /** Nodes that were asked to wake and are not on yet, and since when, by uid. */
  readonly #wakingSince = new Map<string, Instant>();
  readonly #sleeps = new Map<string, Instant>();
  readonly #wakes = new Map<string, Instant>();
  /** Pods that wait although they fit on awake nodes, and since when, by shape. */
  readonly #fitsSince = new Map<string, Instant>();
  /** With `recommend`: nodes that would be asleep. */
  readonly recommended = new Set<string>();
  /** When arrivals were first observed, by this process or by an earlier one that stored them. */
  since: Instant | undefined;

  observedSince(since: Instant): void {
    this.since = instant(Math.min(this.since ?? since, since));
  }

  /** A new term of this replica: what happened since its last one is unknown, so every time starts again. */
  startTerm(): void {
    for (const times of [this.#emptySince, this.#wakingSince, this.#fitsSince]) times.clear();
  }

  /** `current` is whether pods can be read. Without them no node counts as empty. */
  observe(nodes: readonly SleepNode[], current: boolean, now: Instant): void {
    this.since = instant(Math.min(this.since ?? now, now));
    const uids = new Set<string>();
    for (const { uid, wanted, state, ready, pods } of nodes) {
      uids.add(uid);
      if (!current || wanted !== "on" || state !== "on" || !ready || pods > 0) this.#emptySince.delete(uid);
      else this.#emptySince.set(uid, instant(Math.min(this.#emptySince.get(uid) ?? now, now)));
      if (wanted !== "on" || state === "on" || state === "failed") this.#wakingSince.delete(uid);
      else this.#wakingSince.set(uid, instant(Math.min(this.#wakingSince.get(uid) ?? now, now)));
    }
    for (const times of [this.#emptySince, this.#wakingSince])
      for (const uid of times.keys()) if (!uids.has(uid)) times.delete(uid);
    for (const times of [this.#sleeps, this.#wakes])
      for (const [uid, at] of times) if (!(Math.abs(now - at) < MINUTE)) times.delete(uid);
  }

  /** Remembers since when pods of these shapes fit on awake nodes; other shapes are forgotten. */
  fitSince(shapes: readonly string[], now: Instant): readonly Instant[] {
    const present = new Set(shapes);
    for (const shape of this.#fitsSince.keys()) if (!present.has(shape)) this.#fitsSince.delete(shape);
    return shapes.map((shape) => {
      const since = instant(Math.min(this.#fitsSince.get(shape) ?? now, now));
      this.#fitsSince.set(shape, since);
      return since;
    });
  }

  isEmptyFor(uid: string, length: Milliseconds, now: Instant): boolean {
    const since = this.#emptySince.get(uid);
    return since !== undefined && now - since >= length;
  }

  /** Whether the node has been on its way to on for longer than this. */
  isWakingFor(uid: string, length: Milliseconds, now: Instant): boolean {
    const since = this.#wakingSince.get(uid);
    return since !== undefined && now - since > length;
  }

  /** The clock was set forward (or back, below 0) by this much: what was observed becomes neither older nor younger. */
  clockWasSet(by: Milliseconds): void {
    if (this.since !== undefined) this.since = instant(this.since + by);
    for (const times of [this.#emptySince, this.#wakingSince, this.#sleeps, this.#wakes, this.#fitsSince])
      for (const [key, at] of times) times.set(key, instant(at + by));
  }

  /** Whether the node may start to sleep or wake within the limit per minute. If so, it counts. */
  start(what: "sleep" | "wake", uid: string, limit: number, now: Instant): boolean {
    const times = what === "sleep" ? this.#sleeps : this.#wakes;
    // A decision that was not written yet counts once.
    if (!times.has(uid) && times.size >= limit) return false;
    if (!times.has(uid)) times.set(uid, now);
    return true;
  }
}
