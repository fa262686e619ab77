import { elapsed, type MonotonicInstant } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { comesAfter, type StoreView } from "../../../platform/kube/index.ts";

interface Versioned {
  readonly metadata: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined };
}

/** By then the watch has told of an object we made, or the object is gone again. */
const UNSEEN_FOR_LONG = 60_000;

/**
 * A watch's store, with the answers to our own writes laid over it until the watch has caught up. Without them a pass soon
 * after a write would decide from a state that is already history.
 */
export class LatestObjects<Value extends Versioned> {
  readonly #shown: StoreView<Value>;
  readonly #clock: Clock;
  readonly #answers = new Map<string, { readonly value: Value; readonly at: MonotonicInstant }>();

  constructor(shown: StoreView<Value>, clock: Clock) {
    this.#shown = shown;
    this.#clock = clock;
  }

  get(name: string): Value | undefined {
    const shown = this.#shown.getByKey(name);
    const answer = this.#answers.get(name);
    if (answer === undefined) return shown;
    const newer =
      shown === undefined
        ? elapsed(answer.at, this.#clock.monotonic()) < UNSEEN_FOR_LONG
        : comesAfter(versionOf(answer.value), versionOf(shown)) === true;
    if (newer) return answer.value;
    this.#answers.delete(name);
    return shown;
  }

  /** One may come twice: from the watch and from an answer. */
  *names(): Iterable<string> {
    yield* this.#answers.keys();
    for (const [name] of this.#shown.entries()) yield name;
  }

  recordResponse(name: string, value: Value): void {
    this.#answers.set(name, { value, at: this.#clock.monotonic() });
  }

  /** Whether the watch tells what an answer told before. */
  isEcho(name: string, value: Value): boolean {
    const answer = this.#answers.get(name)?.value;
    return answer !== undefined && comesAfter(versionOf(value), versionOf(answer)) !== true;
  }

  /** The object of this uid is gone, whatever the last answer said. */
  recordDeletion(name: string, uid?: string): void {
    if (uid === undefined || this.#answers.get(name)?.value.metadata.uid === uid) this.#answers.delete(name);
  }
}

const versionOf = ({ metadata }: Versioned): string => metadata.resourceVersion ?? "";
