import { milliseconds } from "../../core/units/index.ts";
import type { Clock, Timer } from "../clock/index.ts";
import { type Collection } from "./collection.ts";
import type { Fields } from "./json.ts";
import type { KubeObject } from "./kube-object.ts";
import type { Matches } from "./selectors.ts";
import { type Change, Stored } from "./stored.ts";

/** Kubernetes' own pace, so that quiet watchers learn of newer resourceVersions. */
const BOOKMARK_EVERY = milliseconds(60_000);
/** A reader this far behind would only cost memory: its watch ends, and it starts anew. */
const MOST_WAITING = 100_000;

/** What a watch shows of its changes. */
export interface WatchView {
  readonly matches: Matches | undefined;
  /** An event's object as text. */
  readonly shown: (stored: Stored) => string;
  readonly bookmarks: boolean;
  /** The object of a bookmark. */
  readonly bookmark: (version: number, initialEventsEnd: boolean) => Fields;
}

/** The lines of one watch: a queue that changes fill and one reader empties. */
export class WatchStream implements AsyncIterable<Uint8Array> {
  readonly #view: WatchView;
  readonly #version: () => number;
  readonly #timers: Timer[] = [];
  readonly #unfollow: () => void;
  #lines: string[] = [];
  #wake: (() => void) | undefined;
  #over = false;
  #failure: Error | undefined;
  #onEnd: () => void = () => undefined;

  constructor(
    collection: Collection,
    view: WatchView,
    clock: Clock,
    version: () => number,
    seconds: number | undefined,
  ) {
    this.#view = view;
    this.#version = version;
    this.#unfollow = collection.follow((change) => this.take(change));
    if (view.bookmarks) this.#keepMarking(clock);
    if (seconds !== undefined) {
      const end = () => {
        if (view.bookmarks) this.mark(false);
        this.end();
      };
      this.#timers.push(clock.after(milliseconds(seconds * 1000), end, { background: true }));
    }
  }

  onEnd(callback: () => void): void {
    this.#onEnd = callback;
  }

  /** A change as this watch sees it: one that enters its selector is an addition, one that leaves it a deletion. */
  take({ type, current, previous, version }: Change): void {
    const { matches } = this.#view;
    if (matches === undefined) {
      this.#event(type, current);
      return;
    }
    const before = previous !== undefined && matches(previous.object);
    const after = type !== "DELETED" && matches(current.object);
    if (after) this.#event(before ? "MODIFIED" : "ADDED", current);
    else if (before && previous !== undefined) this.#event("DELETED", at(previous, version));
  }

  add(stored: Stored): void {
    this.#event("ADDED", stored);
  }

  mark(initialEventsEnd: boolean): void {
    this.#push("BOOKMARK", JSON.stringify(this.#view.bookmark(this.#version(), initialEventsEnd)));
  }

  /** An event that says why the watch is over. */
  fail(status: Fields): void {
    this.#push("ERROR", JSON.stringify(status));
    this.end();
  }

  /** No more events; what waits is still read, unless the connection itself breaks. */
  end(failure?: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = failure;
    this.#unfollow();
    for (const timer of this.#timers) timer.cancel();
    this.#onEnd();
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#lines.length > 0) {
          const lines = this.#lines;
          this.#lines = [];
          yield Buffer.from(lines.join(""));
        } else if (this.#over) return;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      this.end();
    }
  }

  #event(type: string, stored: Stored): void {
    this.#push(type, this.#view.shown(stored));
  }

  #push(type: string, object: string): void {
    if (this.#over) return;
    this.#lines.push(`{"type":"${type}","object":${object}}\n`);
    if (this.#lines.length > MOST_WAITING) {
      this.#lines = [];
      this.end(new Error(`a watch fell ${MOST_WAITING} events behind`));
    }
    this.#wake?.();
  }

  #keepMarking(clock: Clock): void {
    const mark = () => {
      this.mark(false);
      this.#timers[0] = clock.after(BOOKMARK_EVERY, mark, { background: true });
    };
    this.#timers.push(clock.after(BOOKMARK_EVERY, mark, { background: true }));
  }
}

/** An object as it was, at the resourceVersion of the change that took it out of the selection. */
function at(stored: Stored, version: number): Stored {
  const { object } = stored;
  const moved: KubeObject = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
  return new Stored(stored.key, moved, version);
}
