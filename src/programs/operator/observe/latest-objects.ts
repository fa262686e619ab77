import { elapsed, type MonotonicInstant } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { comesAfter, type StoreView } from "../../../platform/kube/index.ts";

interface Versioned {
  readonly metadata: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined };
}

/** By then the watch has reported a created object, or the object was deleted again. */
const FORGET_UNSEEN_AFTER = 60_000;

/** A watch's store, overlaid with the responses to this replica's writes until the watch has caught up. */
export class LatestObjects<Value extends Versioned> {
  readonly #watched: StoreView<Value>;
  readonly #clock: Clock;
  readonly #responses = new Map<string, { readonly value: Value; readonly at: MonotonicInstant }>();

  constructor(watched: StoreView<Value>, clock: Clock) {
    this.#watched = watched;
    this.#clock = clock;
  }

  get(name: string): Value | undefined {
    const watched = this.#watched.getByKey(name);
    const response = this.#responses.get(name);
    if (response === undefined) return watched;
    const newer =
      watched === undefined
        ? elapsed(response.at, this.#clock.monotonic()) < FORGET_UNSEEN_AFTER
        : comesAfter(versionOf(response.value), versionOf(watched)) === true;
    if (newer) return response.value;
    this.#responses.delete(name);
    return watched;
  }

  /** A name may occur twice: from the watch and from a response. */
  *names(): Iterable<string> {
    yield* this.#responses.keys();
    for (const [name] of this.#watched.entries()) yield name;
  }

  recordResponse(name: string, value: Value): void {
    this.#responses.set(name, { value, at: this.#clock.monotonic() });
  }

  /** Whether a watch event only repeats an earlier response. */
  isEcho(name: string, value: Value): boolean {
    const response = this.#responses.get(name)?.value;
    return response !== undefined && comesAfter(versionOf(value), versionOf(response)) !== true;
  }

  /** The object with this uid, or any object of this name, was deleted. */
  recordDeletion(name: string, uid?: string): void {
    if (uid === undefined || this.#responses.get(name)?.value.metadata.uid === uid) this.#responses.delete(name);
  }
}

const versionOf = ({ metadata }: Versioned): string => metadata.resourceVersion ?? "";
