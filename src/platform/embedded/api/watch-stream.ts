import { milliseconds } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../clock/index.ts";
import type { JsonObject } from "../storage/json.ts";
import { type ApiObject, type StoredChange, StoredObject } from "../storage/kube-object.ts";
import type { Collection } from "../storage/store.ts";
import type { Matches } from "./selectors.ts";

/** Kubernetes' interval. Bookmarks tell idle watchers the current resourceVersion. */
const BOOKMARK_EVERY = milliseconds(60_000);
/** The server ends the watch of a reader that is this far behind, to bound memory. */
const MAX_WAITING = 100_000;
/** Bounds the size of one chunk. */
const EVENTS_PER_CHUNK = 500;

/** How a watch selects and formats objects. */
export interface WatchView {
  readonly matches: Matches | undefined;
  readonly format: (stored: StoredObject) => string;
  readonly bookmarks: boolean;
  readonly bookmark: (version: number, initialEventsEnd: boolean) => JsonObject;
}

/** A queued event; `text` for events without an object. */
interface Waiting {
  readonly type: string;
  readonly object: StoredObject | string;
}

/** The event queue of one watch. Changes fill it and one reader drains it. */
export class WatchStream implements AsyncIterable<Uint8Array> {
  readonly #view: WatchView;
  readonly #version: () => number;
  readonly #timers: Timer[] = [];
  readonly #unfollow: () => void;
  #queue: Waiting[] = [];
  /** Queued events that arrived after the initial state, which may have any length. */
  #behind = 0;
  #wake: (() => void) | undefined;
  #over = false;
  #failure: Error | undefined;
  #onEnd: () => void = () => undefined;

  /** Without `seconds`, or with 0 as in Kubernetes, the watch ends when its reader disconnects. */
  constructor(
    collection: Collection,
    view: WatchView,
    clock: Clock,
    version: () => number,
    seconds: number | undefined,
  ) {
    this.#view = view;
    this.#version = version;
    this.#unfollow = collection.follow((change) => this.#hear(change));
    if (view.bookmarks) this.#keepMarking(clock);
    if (seconds !== undefined && seconds > 0) {
      const end = () => {
        if (view.bookmarks) this.mark(false);
        this.end();
      };
      this.#timers.push(clock.after(milliseconds(seconds * 1000), end, { background: true }));
    }
  }

  onEnd(callback: () => void): void {
    if (this.#over) callback();
    else this.#onEnd = callback;
  }

  /** An object that starts to match the selector becomes ADDED; one that stops matching becomes DELETED. */
  #take({ type, current, previous, version }: StoredChange): void {
    const { matches } = this.#view;
    if (matches === undefined) {
      this.#push(type, current);
      return;
    }
    const before = previous !== undefined && matches(previous.object);
    const after = type !== "DELETED" && matches(current.object);
    if (after) this.#push(before ? "MODIFIED" : "ADDED", current);
    else if (before && previous !== undefined) this.#push("DELETED", at(previous, version));
  }

  /** Queues the changes between the requested resourceVersion and now. */
  replay(changes: readonly StoredChange[]): void {
    for (const change of changes) this.#take(change);
    this.#behind = 0;
  }

  /** Queues the initial state and, if requested, the initial-events-end bookmark. */
  begin(state: readonly StoredObject[], marked: boolean): void {
    for (const stored of state) this.#push("ADDED", stored);
    if (marked) this.mark(true);
    this.#behind = 0;
  }

  mark(initialEventsEnd: boolean): void {
    this.#push("BOOKMARK", JSON.stringify(this.#view.bookmark(this.#version(), initialEventsEnd)));
  }

  /** Sends an ERROR event and ends the watch. */
  fail(status: JsonObject): void {
    this.#push("ERROR", JSON.stringify(status));
    this.end();
  }

  /** Ends the watch after its queued events; with `failure` it ends immediately. */
  end(failure?: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = failure;
    if (failure !== undefined) this.#queue = [];
    this.#unfollow();
    for (const timer of this.#timers) timer.cancel();
    this.#onEnd();
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#queue.length > 0) yield* this.#chunks();
        else if (this.#over) return;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      this.end();
    }
  }

  /** All queued events. Formatting happens here, so an object that cannot be formatted ends only this watch. */
  *#chunks(): Generator<Uint8Array, void, undefined> {
    const events = this.#queue;
    this.#queue = [];
    this.#behind = 0;
    for (let start = 0; start < events.length; start += EVENTS_PER_CHUNK) {
      if (this.#failure !== undefined) return;
      const lines = events.slice(start, start + EVENTS_PER_CHUNK).map((event) => this.#line(event));
      yield Buffer.from(lines.join(""));
    }
  }

  #line({ type, object }: Waiting): string {
    return `{"type":"${type}","object":${typeof object === "string" ? object : this.#view.format(object)}}\n`;
  }

  /** A selector that throws ends only its own watch; the write and the other watches continue. */
  #hear(change: StoredChange): void {
    try {
      this.#take(change);
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    if (this.#behind > MAX_WAITING) this.end(new Error(`a watch fell ${MAX_WAITING} events behind`));
  }

  #push(type: string, object: StoredObject | string): void {
    if (this.#over) return;
    this.#queue.push({ type, object });
    this.#behind++;
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

/** The previous state of an object, with the resourceVersion of the change that removed it from the selection. */
function at(stored: StoredObject, version: number): StoredObject {
  const { object } = stored;
  const moved: ApiObject = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
  return new StoredObject(stored.key, moved, version);
}
