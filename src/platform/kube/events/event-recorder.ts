import { elapsed, type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../clock/index.ts";
import { CallLimit } from "../client/call-limit.ts";
import { isApiError } from "../client/errors.ts";
import type { KubeIo } from "../client/kube-io.ts";
import type { ObjectName } from "../client/object.ts";
import { resources } from "../client/resources.ts";
import { microTime } from "../leader/lease.ts";

export interface EventRecorderOptions extends KubeIo {
  readonly clock: Clock;
  /** The time in which events repeat, where `clock` measures another: in the demo that of the cluster, which passes faster. */
  readonly seriesClock?: Clock;
  /** The program, such as `joulie.io/operator`. */
  readonly controller: string;
  /** The pod it runs in. */
  readonly instance: string;
  /** The interval between writes of a series, and the quiet time after which it ends. */
  readonly seriesInterval?: Milliseconds;
  readonly seriesEnd?: Milliseconds;
  /** Maximum number of series in memory; the least recently used is dropped first. */
  readonly capacity?: number;
  /** Rate limit of writes: sustained and burst. */
  readonly perSecond?: number;
  readonly burst?: number;
}

/** How often deferred events are tried again. */
const DRAIN = milliseconds(1000);

/** An event and its count. */
interface Series {
  readonly first: EventNote;
  readonly name: string;
  count: number;
  written: number;
  lastSeen: MonotonicInstant;
  lastSeenAt: string;
  writing: boolean;
}

/** Publishes Events, repetitions as a series. Best effort: it drops what exceeds its limits; callers never wait. */
export class EventRecorder {
  readonly #options: Required<EventRecorderOptions>;
  readonly #series = new Map<string, Series>();
  /** First Events of series that the rate limit deferred, oldest first. */
  readonly #deferred = new Set<Series>();
  readonly #limit: CallLimit;
  readonly #run: string;
  #names = 0;
  #timer: Timer | undefined;
  #drainTimer: Timer | undefined;
  #dropped = 0;
  #complained = false;
  #stopped = false;
  readonly #writes = new Set<Promise<void>>();

  constructor(options: EventRecorderOptions) {
    this.#options = {
      seriesClock: options.clock,
      seriesInterval: milliseconds(60_000),
      seriesEnd: milliseconds(360_000),
      capacity: 1000,
      // A change of the policy concerns all nodes at once: the Events about 500 nodes are written within a minute.
      perSecond: 10,
      burst: 50,
      ...options,
    };
    const { clock, perSecond, burst } = this.#options;
    this.#limit = new CallLimit({ clock, perSecond, burst, queue: 0 });
    this.#run = Math.floor(options.random.next() * 2 ** 48).toString(36);
  }

  /** Events dropped because of the limits. */
  get dropped(): number {
    return this.#dropped;
  }

  record(note: EventNote): void {
    if (this.#stopped) return;
    const { clock, seriesClock, capacity } = this.#options;
    const { regarding, type, reason, action, series: one } = note;
    const { kind, namespace, name, uid } = regarding;
    const key = [kind, namespace, name, uid, type, reason, action, one].join("\u0000");
    const known = this.#series.get(key);
    const series: Series = known ?? {
      first: note,
      name: this.#nameFor(regarding),
      count: 0,
      written: 0,
      lastSeen: seriesClock.monotonic(),
      lastSeenAt: "",
      writing: false,
    };
    series.count++;
    series.lastSeen = seriesClock.monotonic();
    series.lastSeenAt = microTime(clock.now());
    // Keeps least-recently-used order: the first entry is the oldest.
    this.#series.delete(key);
    if (this.#series.size >= capacity) this.#evict();
    this.#series.set(key, series);
    if (known === undefined && !this.#write(series)) this.#defer(series);
    this.#arm();
  }

  /** Writes the pending counts and stops. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#drainTimer?.cancel();
    this.#deferred.clear();
    // Writes in flight do not include later counts.
    await Promise.all(this.#writes);
    for (const series of this.#series.values()) this.#writeOrDrop(series);
    await Promise.all(this.#writes);
    this.#series.clear();
  }

  #evict(): void {
    for (const [key, series] of this.#series) {
      this.#series.delete(key);
      this.#deferred.delete(series);
      if (series.count > series.written) this.#dropped++;
      return;
    }
  }

  /** Writes it as soon as the rate limit allows, and not with the counts once per interval: then it would come minutes late. */
  #defer(series: Series): void {
    this.#deferred.add(series);
    const drain = () => {
      this.#drainTimer = undefined;
      for (const first of this.#deferred) {
        if (!this.#write(first)) break;
        this.#deferred.delete(first);
      }
      if (this.#deferred.size > 0) this.#drainTimer = this.#options.clock.after(DRAIN, drain, { background: true });
    };
    this.#drainTimer ??= this.#options.clock.after(DRAIN, drain, { background: true });
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#series.size === 0) return;
    const { seriesClock, seriesInterval } = this.#options;
    this.#timer = seriesClock.after(
      seriesInterval,
      () => {
        this.#timer = undefined;
        this.#sweep();
        this.#arm();
      },
      { background: true },
    );
  }

  #sweep(): void {
    const { seriesClock, seriesEnd } = this.#options;
    const now = seriesClock.monotonic();
    for (const [key, series] of this.#series) {
      if (elapsed(series.lastSeen, now) >= seriesEnd) {
        this.#series.delete(key);
        this.#deferred.delete(series);
        this.#writeOrDrop(series);
      } else if (series.count > series.written && !this.#deferred.has(series)) this.#write(series);
    }
  }

  #writeOrDrop(series: Series): void {
    if (series.count > series.written && !this.#write(series)) this.#dropped++;
  }

  /** Starts a write; false when the rate limit defers it to the next sweep. */
  #write(series: Series): boolean {
    if (series.writing || !this.#limit.tryTake()) return false;
    series.writing = true;
    const count = series.count;
    const write = this.#send(series, count)
      .then(() => {
        series.written = count;
      })
      .catch((err: unknown) => {
        // Warns once, so that missing permissions do not fill the log.
        this.#options.log[this.#complained ? "debug" : "warn"]({ err }, "cannot write event");
        this.#complained = true;
      })
      .finally(() => {
        series.writing = false;
        this.#writes.delete(write);
      });
    this.#writes.add(write);
    return true;
  }

  async #send(series: Series, count: number): Promise<void> {
    try {
      if (series.written > 0) return await this.#patch(series, count);
    } catch (error) {
      // The server deletes events after an hour, so create it again.
      if (!isApiError(error, "notFound")) throw error;
    }
    const namespace = namespaceOf(series.first.regarding);
    try {
      await this.#options.client.create(resources.events, this.#object(series, count), { namespace, retries: 1 });
    } catch (error) {
      if (!isApiError(error, "alreadyExists")) throw error;
      // The create succeeded, but its response was lost. A series starts at count 2.
      if (count > 1) await this.#patch(series, count);
    }
  }

  async #patch({ first, name, lastSeenAt }: Series, count: number): Promise<void> {
    const patch = { series: { count, lastObservedTime: lastSeenAt } };
    const at = { name, namespace: namespaceOf(first.regarding) };
    await this.#options.client.mergePatch(resources.events, at, patch, { retries: 0 });
  }

  #object({ first, name, lastSeenAt }: Series, count: number) {
    const { controller, instance } = this.#options;
    return eventObject(first, { name, at: lastSeenAt, count, controller, instance });
  }

  /** Unique across restarts; starts with the object's name for sorting. */
  #nameFor({ name }: EventSubject): string {
    return `${name.slice(0, 220)}.${this.#run}${(this.#names++).toString(36)}`;
  }
}

export interface EventSubject extends ObjectName {
  readonly apiVersion: string;
  readonly kind: string;
  readonly uid?: string;
}

export interface EventNote {
  readonly regarding: EventSubject;
  readonly type: "Normal" | "Warning";
  /** The reason, in CamelCase. */
  readonly reason: string;
  /** The action taken or attempted, in CamelCase. */
  readonly action: string;
  /** A human-readable message. */
  readonly note: string;
  /** Distinguishes events that differ only in their note; without it they count as one series. */
  readonly series?: string;
}

interface EventFacts {
  readonly name: string;
  /** When it was last seen. */
  readonly at: string;
  readonly count: number;
  readonly controller: string;
  readonly instance: string;
}

/** Builds an events.k8s.io/v1 object within the API's length limits. */
function eventObject(about: EventNote, { name, at, count, controller, instance }: EventFacts) {
  const { apiVersion, kind, uid, name: subject, namespace } = about.regarding;
  return {
    metadata: { name, namespace: namespaceOf(about.regarding) },
    eventTime: at,
    reportingController: controller.slice(0, 128),
    reportingInstance: instance.slice(0, 128),
    action: about.action.slice(0, 128),
    reason: about.reason.slice(0, 128),
    type: about.type,
    note: shortened(about.note),
    regarding: {
      apiVersion,
      kind,
      name: subject,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
    },
    ...(count > 1 && { series: { count, lastObservedTime: at } }),
  };
}

/** The API server requires events of cluster-scoped objects to be in `default`. */
const namespaceOf = ({ namespace }: EventSubject): string => namespace ?? "default";

/** Shortens a note to the API's limit of 1 KiB. */
function shortened(note: string): string {
  if (Buffer.byteLength(note) <= 1024) return note;
  let end = Math.min(note.length, 1021);
  while (Buffer.byteLength(note.slice(0, end)) > 1021) end--;
  return `${note.slice(0, end).toWellFormed()}...`;
}
