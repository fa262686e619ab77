import { apiGroup, type ErrorCode } from "../../../core/api/index.ts";
import { elapsed, type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Backoff } from "../../backoff/index.ts";
import type { Clock, Timer } from "../../clock/index.ts";
import type { Selection } from "../client/call-types.ts";
import { ApiError, isApiError, waitAfterError } from "../client/errors.ts";
import type { KubeIo } from "../client/kube-io.ts";
import type { KubeObject } from "../client/object.ts";
import { readPages } from "../client/pages.ts";
import { definitionOf, missingDefinition, type Resource, remedyOfMissingDefinition } from "../client/resources.ts";
import { ListWatchSync } from "./list-watch-sync.ts";
import { type ChangeListener, type IndexFunctions, ObjectStore, type StoreView } from "./object-store.ts";
import { comesAfter } from "./resource-version.ts";

export interface ReflectorOptions<Value, Index extends string> extends KubeIo {
  readonly clock: Clock;
  readonly resource: Resource;
  readonly selection?: Selection;
  /** Projects an object to the needed fields. Undefined skips it; one for which it throws is reported once and skipped. */
  readonly project: (object: KubeObject) => Value | undefined;
  readonly indexes?: IndexFunctions<Value, Index>;
  /** Receives changes in order and in batches, after the store was updated. */
  readonly onChange?: ChangeListener<Value>;
  /** Called once when the server refuses the permission; then refusals are not logged. */
  readonly onForbidden?: () => void;
  /** Called when the server has no such kind, once until it is installed. */
  readonly onMissing?: () => void;
  /** Maximum silence of a watch before it is replaced; of a new one as well. Default: by how servers send bookmarks. */
  readonly idleLimit?: Milliseconds | undefined;
  readonly pageSize?: number;
}

/** Servers send a bookmark every minute: after a longer silence the connection may be dead without an error. */
const MAX_SILENCE = milliseconds(90_000);
/**
 * Of a new watch. Servers leave out bookmarks that are not newer than the start of the watch: without a change of the kind in the
 * first minute, the first bookmark comes after two. 5,000 agents would replace their watches together before that.
 */
const MAX_FIRST_SILENCE = milliseconds(135_000);
const BACKOFF: Backoff = { first: milliseconds(250), longest: milliseconds(30_000) };
const MISSING_CRD: ErrorCode = "JOULIE_E_MISSING_CRD";
const OBJECT_UNREADABLE: ErrorCode = "JOULIE_E_OBJECT_UNREADABLE";
const MAX_RETRY_AFTER = milliseconds(120_000);
/** After a watch of at least this duration, the next one starts without backoff. */
const A_GOOD_WHILE = milliseconds(1000);
/** After this many failed watches from one resourceVersion, the reflector lists again. */
const FAILURES_UNTIL_LIST = 5;
/** Time limits of opening a watch, and of the list after a silent one. Nothing changes in the store meanwhile. */
const MAX_OPENING = milliseconds(30_000);
const MAX_CHECK = milliseconds(10_000);
/** Bypasses the rate limit: it sends one call at a time, and must not queue behind writes. */
const CALL = { lean: true, urgent: true } as const;
/**
 * The server ends watches after 20 to 40 minutes, which rebalances them over its replicas. client-go's 5 to 10 minutes would make
 * 5,000 agents renew a watch 67 times per second. Silence shows dead connections much sooner.
 */
const SERVER_TIMEOUT = milliseconds(1_200_000);

/** Keeps a store in sync with the API server: lists, watches, retries forever and replaces silent connections. */
export class Reflector<Value, Index extends string = never> {
  readonly #options: ReflectorOptions<Value, Index>;
  readonly #store: ObjectStore<Value, Index>;
  readonly #sync: ListWatchSync<Value, Index>;
  readonly #idleLimit: Milliseconds;
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #hasSynced = false;
  #lastContact: MonotonicInstant | undefined;
  #openedAt: MonotonicInstant | undefined;
  #missingDefinition: string | undefined;
  #isForbidden = false;

  constructor(options: ReflectorOptions<Value, Index>) {
    const { idleLimit = MAX_SILENCE, resource, log, onChange } = options;
    if (!(idleLimit > 0)) throw new RangeError(`an idle limit is longer than 0 ms, got ${idleLimit}`);
    this.#options = options;
    this.#idleLimit = idleLimit;
    this.#store = new ObjectStore(options.indexes ?? ({} as IndexFunctions<Value, Index>));
    this.#sync = new ListWatchSync({
      store: this.#store,
      project: options.project,
      onUnreadable: (key, err) =>
        log.warn(
          { code: OBJECT_UNREADABLE, kind: resource.kind, object: key, err },
          "cannot parse object; skipping it",
        ),
      onChange: (changes) => {
        try {
          onChange?.(changes);
        } catch (err) {
          log.error({ kind: resource.kind, err }, "a change listener threw");
        }
      },
    });
  }

  get store(): StoreView<Value, Index> {
    return this.#store;
  }

  /** Whether the initial list is complete. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Whether the server refuses the permission to list or watch. */
  get isForbidden(): boolean {
    return this.#isForbidden;
  }

  /** `the CustomResourceDefinition … is not installed`, or undefined. */
  get missingDefinition(): string | undefined {
    return this.#missingDefinition;
  }

  /** Also after the first list: a right or a CRD may go away, and then the store is history. */
  get isRefused(): boolean {
    return this.#isForbidden || this.#missingDefinition !== undefined;
  }

  /** Time since the last data from the server; undefined before the first. */
  get silence(): Milliseconds | undefined {
    const last = this.#lastContact;
    return last === undefined ? undefined : elapsed(last, this.#options.clock.monotonic());
  }

  start(): void {
    this.#running ??= this.#run(this.#stop.signal);
  }

  /** Resolves after the initial list. Pass a signal, because the server may stay unreachable. */
  async synced(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    let stop: (() => void) | undefined;
    const aborted = new Promise<never>((_, reject) => {
      stop = () => reject(signal?.reason);
      signal?.addEventListener("abort", stop, { once: true });
    });
    await Promise.race([this.#synced.promise, aborted]);
    if (stop !== undefined) signal?.removeEventListener("abort", stop);
  }

  /** Stops the reflector; listeners are not called afterwards. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error("the reflector was stopped"));
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    let placeKnown = false;
    for (let failures = 0; ; ) {
      // Only watch events count as progress: on a busy cluster every list has a newer resourceVersion.
      let from = this.#sync.resourceVersion;
      this.#openedAt = undefined;
      let error: unknown;
      try {
        if (!placeKnown) await this.#list(signal);
        placeKnown = true;
        from = this.#sync.resourceVersion;
        await this.#watch(signal);
      } catch (caught) {
        error = caught;
      }
      if (signal.aborted) return;
      const lasted = this.#openedAt === undefined ? 0 : elapsed(this.#openedAt, clock.monotonic());
      if (this.#sync.resourceVersion !== from || lasted >= A_GOOD_WHILE) failures = 0;
      if (error === undefined && lasted >= A_GOOD_WHILE) continue;
      failures++;
      if (isPlaceLost(error) || failures % FAILURES_UNTIL_LIST === 0) placeKnown = false;
      this.#report(error, failures);
      try {
        await clock.sleep(waitAfterError(error, failures, BACKOFF, MAX_RETRY_AFTER, random), signal);
      } catch {
        return;
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, selection, pageSize = 500 } = this.#options;
    const resourceVersion = await readPages({
      pageSize,
      fetch: async (page) => {
        const answer = await client.list(resource, { ...selection, ...page }, { signal, ...CALL });
        this.#heard();
        return answer;
      },
      begin: () => this.#sync.beginList(),
      page: (items) => this.#sync.addPage(items),
    });
    signal.throwIfAborted();
    this.#sync.endList(resourceVersion);
    this.#defined();
    this.#hasSynced = true;
    this.#isForbidden = false;
    this.#synced.resolve();
  }

  /** Returns when the server ends the watch, or after too long a silence. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { client, clock, random, resource, selection, idleLimit } = this.#options;
    const abort = new AbortController();
    const stop = () => abort.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    let isSilent = false;
    const silence = new SilenceTimer(clock, () => {
      isSilent = true;
      abort.abort(new Error("the watch was silent for too long"));
    });
    try {
      const resourceVersion = this.#sync.resourceVersion;
      const serverTimeout = milliseconds(SERVER_TIMEOUT * (1 + random.next()));
      const query = { ...selection, resourceVersion, serverTimeout };
      const timeout = milliseconds(Math.min(this.#idleLimit, MAX_OPENING));
      const events = await client.watch(resource, query, { signal: abort.signal, timeout, ...CALL });
      silence.restart(idleLimit ?? MAX_FIRST_SILENCE);
      this.#openedAt = clock.monotonic();
      this.#heard();
      // A right or a CRD that came back while the place was still known needs no new list.
      this.#defined();
      this.#isForbidden = false;
      for await (const batch of events) {
        if (abort.signal.aborted) break;
        this.#heard();
        silence.restart(this.#idleLimit);
        this.#sync.apply(batch);
      }
    } catch (error) {
      if (!isSilent) throw error;
    } finally {
      silence.stop();
      signal.removeEventListener("abort", stop);
      abort.abort();
    }
    if (isSilent) await this.#expectSamePast(signal);
  }

  /** A server restored from a backup sends no event until its resourceVersion is that of the watch again. */
  async #expectSamePast(signal: AbortSignal): Promise<void> {
    const { client, resource, selection } = this.#options;
    const timeout = milliseconds(Math.min(this.#idleLimit, MAX_CHECK));
    const page = await client
      .list(resource, { ...selection, limit: 1 }, { signal, timeout, retries: 0, ...CALL })
      .catch(() => undefined);
    if (page === undefined) return;
    const { resourceVersion } = page;
    this.#heard();
    if (comesAfter(this.#sync.resourceVersion, resourceVersion) === true)
      throw new ApiError(
        "gone",
        `the server's resourceVersion went back to ${resourceVersion}: it was restored from a backup`,
      );
  }

  /** Logs a missing CRD once until it is installed. */
  #undefined(): void {
    if (this.#missingDefinition !== undefined) return;
    const { log, resource, onMissing } = this.#options;
    this.#missingDefinition = missingDefinition(resource);
    onMissing?.();
    log.error({ code: MISSING_CRD, kind: resource.kind }, `${this.#missingDefinition}; ${remedyOfMissingDefinition}`);
  }

  #defined(): void {
    if (this.#missingDefinition === undefined) return;
    const { log, resource } = this.#options;
    this.#missingDefinition = undefined;
    log.info({ kind: resource.kind }, `${definitionOf(resource)} is installed`);
  }

  #heard(): void {
    this.#lastContact = this.#options.clock.monotonic();
  }

  #report(error: unknown, failures: number): void {
    const { log, resource, onForbidden } = this.#options;
    if (resource.group === apiGroup && isApiError(error, "notFound")) {
      this.#undefined();
      return;
    }
    if (onForbidden !== undefined && isApiError(error, "forbidden")) {
      const isFirst = !this.#isForbidden;
      this.#isForbidden = true;
      if (isFirst) onForbidden();
      return;
    }
    const facts = { kind: resource.kind, attempt: failures, err: error };
    // Logs at failure counts 1, 2, 4, 8, …, to limit the log during an outage.
    if (error === undefined || isApiError(error, "gone") || (failures & (failures - 1)) !== 0) {
      log.debug(facts, "restarting watch");
    } else log.warn(facts, "watch failed; retrying");
  }
}

/** Calls back after a silence. A timer that fires early waits for the rest, which is cheaper than a new timer per event. */
class SilenceTimer {
  readonly #clock: Clock;
  readonly #onSilent: () => void;
  #due = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, onSilent: () => void) {
    this.#clock = clock;
    this.#onSilent = onSilent;
  }

  restart(limit: Milliseconds): void {
    const before = this.#due;
    this.#due = this.#clock.monotonic() + limit;
    if (this.#timer === undefined || this.#due < before) this.#wait();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #wait(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(milliseconds(Math.max(0, this.#due - this.#clock.monotonic())), () => {
      if (this.#clock.monotonic() < this.#due) this.#wait();
      else this.#onSilent();
    });
  }
}

/** Names of the reflectors that have not synced, with a missing CRD as the reason; for /readyz. */
export const unreadOf = (
  reflectors: Readonly<Record<string, Pick<Reflector<unknown>, "hasSynced" | "missingDefinition">>>,
): string[] =>
  Object.entries(reflectors)
    .filter(([, { hasSynced }]) => !hasSynced)
    .map(([name, { missingDefinition: why }]) => (why === undefined ? name : `${name} (${why})`));

/** The resourceVersion is too old or too new for the server, so a new list is needed. */
function isPlaceLost(error: unknown): boolean {
  if (isApiError(error, "gone")) return true;
  return isApiError(error, "timeout") && /too large resource version/i.test(error.message);
}
