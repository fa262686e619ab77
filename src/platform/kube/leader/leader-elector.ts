import type { ErrorCode } from "../../../core/api/index.ts";
import { between, elapsed, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { jittered } from "../../random/index.ts";
import { isApiError } from "../client/errors.ts";
import type { KubeIo } from "../client/kube-io.ts";
import type { ObjectName } from "../client/object.ts";
import { type DualTimestamp, LeaseRecord } from "./lease.ts";

export interface LeaderElectorOptions extends KubeIo {
  /** Real time: leadership is decided by it. */
  readonly clock: Clock;
  /** The time that the Lease shows, where it is not that of `clock`. */
  readonly calendar?: Pick<Clock, "now">;
  /** The Lease shared by all candidates. */
  readonly lease: ObjectName & { readonly namespace: string };
  /** The candidate's readable name; the elector adds a random suffix per process. */
  readonly name: string;
  /** The leader's work, until `term` aborts. The next term starts only after it returns. */
  readonly lead: (term: AbortSignal) => Promise<void> | void;
}

const LEASE_LOST: ErrorCode = "JOULIE_E_LEASE_LOST";
/** As in client-go: the lease outlives the renew deadline, which leaves time for several retries. */
const LEASE_DURATION = milliseconds(15_000);
const RENEW_DEADLINE = milliseconds(10_000);
const RETRY_PERIOD = milliseconds(2000);
/** Jitter of the retry period, so that candidates do not collide. */
const SPREAD = 0.2;

/**
 * Leader election by client-go's rules, without comparing clocks between machines. A candidate waits until it has observed the
 * Lease unchanged for the whole lease duration. The leader stops on its own when it sent its last successful renewal a
 * renew deadline ago. The deadline is shorter than the lease, so the old leader has stopped before a new one starts.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #identity: string;
  readonly #record: LeaseRecord;
  /** When the last successful renewal was sent. */
  #renewed: DualTimestamp | undefined;

  constructor(options: LeaderElectorOptions) {
    const { client, clock, calendar = clock, random, lease, name } = options;
    this.#options = options;
    // The suffix prevents a restarted process with the same name from assuming that it still leads.
    this.#identity = `${name}_${Math.floor(random.next() * 2 ** 48).toString(36)}`;
    this.#record = new LeaseRecord({
      client,
      clock,
      calendar,
      at: lease,
      identity: this.#identity,
      leaseDuration: LEASE_DURATION,
    });
  }

  /** Whether this process leads now. Compares times instead of a flag, so it is correct after the process was suspended. */
  get leading(): boolean {
    return this.#renewed !== undefined && this.#sinceRenewal(this.#renewed) < RENEW_DEADLINE;
  }

  /** Runs the election until `signal` aborts, then releases the Lease. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (await this.#tryOnce(signal)) await this.#term(signal);
      await this.#pause(signal);
    }
  }

  async #term(signal: AbortSignal): Promise<void> {
    const { lead, log } = this.#options;
    const term = new AbortController();
    log.info({ lease: this.#options.lease, identity: this.#identity }, "became leader");
    const work = (async () => lead(term.signal))().catch((err: unknown) => {
      if (!term.signal.aborted) log.error({ code: LEASE_LOST, err }, "leader work failed; rejoining the election");
    });
    try {
      await this.#holdOn(signal, work);
    } finally {
      // In every case, ends the work when the lease is no longer held.
      const lost = !this.leading;
      term.abort(new Error(lost ? "the lease was lost" : "the term is over"));
      await this.#endTerm(work);
      log[lost ? "warn" : "info"](
        { ...(lost && { code: LEASE_LOST }), lease: this.#options.lease },
        lost ? "lost leadership" : "released leadership",
      );
      await work;
    }
  }

  async #endTerm(work: Promise<void>): Promise<void> {
    // Keeps the lease until the work has ended; releasing it earlier would allow two leaders.
    const end = new AbortController();
    await Promise.race([work, this.#untilLost(end.signal)]);
    end.abort();
    const wasLeading = this.leading;
    // Stop leading before sending the release: another candidate may lead before its response arrives.
    this.#renewed = undefined;
    if (wasLeading) await this.#release();
  }

  /** Renews periodically; returns when leadership or the work ends. */
  async #holdOn(signal: AbortSignal, work: Promise<void>): Promise<void> {
    const end = new AbortController();
    const stop = () => end.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    void work.then(stop);
    const deadline = this.#untilLost(end.signal).then(stop);
    try {
      while (!end.signal.aborted) {
        await this.#pause(end.signal);
        if (!end.signal.aborted && !(await this.#tryOnce(end.signal)) && !this.#record.isOurs) break;
      }
    } finally {
      signal.removeEventListener("abort", stop);
      end.abort();
      await deadline;
    }
  }

  /** Waits until the renew deadline passes; a renewal extends it. */
  async #untilLost(signal: AbortSignal): Promise<void> {
    try {
      while (this.#renewed !== undefined && this.leading) {
        const rest = RENEW_DEADLINE - this.#sinceRenewal(this.#renewed);
        // Polls, because a jump of the wall clock fires no timer.
        await this.#options.clock.sleep(milliseconds(Math.max(1, Math.min(rest, RETRY_PERIOD / 4))), signal);
      }
    } catch {
      // Aborted: the caller no longer needs the result.
    }
  }

  /** One attempt to acquire or renew the Lease; true on success. */
  async #tryOnce(signal: AbortSignal): Promise<boolean> {
    const { log } = this.#options;
    let ours = false;
    try {
      const sent = await this.#record.take(signal, milliseconds(RENEW_DEADLINE / 2));
      if (sent !== undefined) {
        this.#renewed = sent;
        ours = this.leading;
      } else if (!this.#record.isOurs) this.#renewed = undefined;
    } catch (err) {
      if (signal.aborted) return false;
      const expected = isApiError(err, "conflict", "alreadyExists");
      log[expected ? "debug" : "warn"]({ err }, "cannot acquire or renew the lease");
    }
    return ours;
  }

  async #release(): Promise<void> {
    try {
      await this.#record.release(RETRY_PERIOD);
    } catch (err) {
      this.#options.log.debug({ err }, "cannot release the lease; it will expire");
    }
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const length = milliseconds(jittered(RETRY_PERIOD, SPREAD, random));
    await clock.sleep(length, signal).catch(() => undefined);
  }

  /**
   * The larger elapsed time of both clocks. The monotonic clock stops while a machine sleeps; the wall clock does not.
   * A process that wakes up after an hour has lost its lease, even if its monotonic clock advanced by a second.
   */
  #sinceRenewal({ monotonic, calendar }: DualTimestamp): number {
    const { clock } = this.#options;
    return Math.max(elapsed(monotonic, clock.monotonic()), between(calendar, clock.now()));
  }
}
