import { type AwaitedPod, isKeptFree, MAX_AWAITED, type SpareRoom } from "../api/index.ts";
import type { PodReference, PodSummary } from "../demand/index.ts";
import { type Instant, instant, type Milliseconds } from "../units/index.ts";
import type { PlanNode } from "./plan-node.ts";

/** At most this share of the nodes is kept free at a time, at least one, at most `MAX_KEPT_FREE`, and never the only one. */
const KEPT_FREE_SHARE = 0.1;
const MAX_KEPT_FREE = 32;

/** A pending pod that a node was chosen for. */
export interface Choice {
  readonly pod: PodSummary;
  readonly awaited: AwaitedPod;
}

/**
 * The nodes that are kept free for pending performance pods, one for each such pod. All of it is read from published status, so
 * that a restart changes nothing.
 *
 * A node is kept free until its pod is bound or gone, for at most `MAX_AWAITED`. Then it rests for as long as it was kept free:
 * other pods have it for at least half of the time.
 */
export class AwaitedNodes {
  /** By index of the node. */
  readonly choices = new Map<number, Choice>();
  readonly #resting = new Map<number, AwaitedPod>();
  /** At most this many nodes are kept free at a time; 0 if standard pods can use only one node. */
  readonly places: number;
  readonly #now: Instant;

  /** `isPossible`: whether the pod fits on the node when that is empty. */
  constructor(
    nodes: readonly PlanNode[],
    pendingByUid: ReadonlyMap<string, PodSummary>,
    isPossible: (index: number, pod: PodSummary) => boolean,
    now: Instant,
  ) {
    this.#now = now;
    const share = Math.max(1, Math.min(MAX_KEPT_FREE, Math.floor(nodes.length * KEPT_FREE_SHARE)));
    this.places = Math.min(share, Math.max(0, nodes.filter(isOpenToAll).length - 1));
    const chosen = new Set<string>();
    for (const [index, awaited] of choicesByAge(nodes)) {
      const pod = pendingByUid.get(awaited.uid);
      const isOpen = isKeptFree(awaited, now) && pod !== undefined && isPossible(index, pod);
      if (isOpen && !chosen.has(awaited.uid) && this.mayChoose) {
        chosen.add(awaited.uid);
        this.choices.set(index, { pod, awaited });
      } else this.#rest(index, awaited);
    }
  }

  /** Whether another node may be kept free. */
  get mayChoose(): boolean {
    return this.choices.size < this.places;
  }

  isResting(index: number): boolean {
    return this.#resting.has(index);
  }

  choose(index: number, pod: PodSummary, { namespace, name, uid }: PodReference): void {
    const until = instant(this.#now + MAX_AWAITED);
    const { priority } = pod;
    const awaited = { pod: `${namespace}/${name}`, uid, since: this.#now, until };
    this.choices.set(index, { pod, awaited: priority === undefined ? awaited : { ...awaited, priority } });
  }

  /** Sets what the pod leaves on its node. */
  leave(index: number, spare: SpareRoom | undefined): void {
    const choice = this.choices.get(index);
    if (choice !== undefined) this.choices.set(index, { ...choice, awaited: { ...choice.awaited, spare } });
  }

  /** Ends the choice after `time` at the latest. */
  limit(index: number, time: Milliseconds): void {
    const choice = this.choices.get(index);
    if (choice === undefined) return;
    const until = instant(Math.min(choice.awaited.until, this.#now + time));
    this.choices.set(index, { ...choice, awaited: { ...choice.awaited, until } });
  }

  /** What to publish. */
  of(index: number): AwaitedPod | undefined {
    return this.choices.get(index)?.awaited ?? this.#resting.get(index);
  }

  #rest(index: number, awaited: AwaitedPod): void {
    const end = Math.min(awaited.until, this.#now);
    const restsUntil = end + (end - awaited.since);
    if (this.#now < restsUntil) this.#resting.set(index, { ...awaited, until: instant(end), spare: undefined });
  }
}

const isOpenToAll = ({ fit }: PlanNode): boolean =>
  fit?.taints?.some(({ effect }) => effect !== "PreferNoSchedule") !== true;

function choicesByAge(nodes: readonly PlanNode[]): readonly (readonly [index: number, awaited: AwaitedPod])[] {
  const found: [number, AwaitedPod][] = [];
  for (const [index, { awaitedBy }] of nodes.entries()) if (awaitedBy !== undefined) found.push([index, awaitedBy]);
  return found.toSorted(([a, one], [b, other]) => one.since - other.since || a - b);
}
