import { between, elapsed, type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { Logger } from "../../log/index.ts";
import { jittered, type RandomSource } from "../../random/index.ts";
import type { KubeClient } from "../client/client.ts";
import { isApiError } from "../client/errors.ts";
import type { ObjectName } from "../client/object.ts";
import { type DualTimestamp, LeaseRecord } from "./lease.ts";

export interface LeaderElectorOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  /** The Lease all candidates share. */
  readonly lease: ObjectName & { readonly namespace: string };
  /** Who we are, for people; what tells two processes apart is added. */
  readonly name: string;
  /** What only the leader does, until `term` ends. The next term begins only after it returned. */
  readonly lead: (term: AbortSignal) => Promise<void> | void;
  /** Who leads now, as far as we have seen. */
  readonly onLeader?: (name: string | undefined) => void;
  readonly leaseDuration?: Milliseconds;
  readonly renewDeadline?: Milliseconds;
  readonly retryPeriod?: Milliseconds;
}

/** Share by which the pauses between attempts differ, so that candidates do not meet. */
const SPREAD = 0.2;

/**
 * Leads while it holds a Lease, by client-go's rules. Nobody compares clocks: a candidate waits until it has itself seen the
 * Lease unchanged for the whole lease duration, and the leader stops, without asking anyone, when its last renewal was sent a
 * renew deadline ago. The deadline is shorter than the lease, so the old leader has stopped before a new one starts.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #identity: string;
  readonly #record: LeaseRecord;
  readonly #renewDeadline: Milliseconds;
  readonly #retryPeriod: Milliseconds;
  /** When the last renewal that succeeded was sent. */
  #renewed: DualTimestamp | undefined;
  #leader: string | undefined;

  constructor(options: LeaderElectorOptions) {
    const { client, clock, random, lease, name } = options;
    const leaseDuration = options.leaseDuration ?? milliseconds(15_000);
    this.#renewDeadline = options.renewDeadline ?? milliseconds(10_000);
    this.#retryPeriod = options.retryPeriod ?? milliseconds(2000);
    if (!(leaseDuration > this.#renewDeadline && this.#renewDeadline > this.#retryPeriod * (1 + SPREAD))) {
      throw new RangeError("leader election needs leaseDuration > renewDeadline > retryPeriod with its spread");
    }
    // The API counts a lease in whole seconds, of which there is at least one.
    if (leaseDuration < 1000) throw new RangeError(`a lease lasts at least 1000 ms, got ${leaseDuration}`);
    this.#options = options;
    // A restarted process has the same name and must not think that it still leads.
    this.#identity = `${name}_${Math.floor(random.next() * 2 ** 48).toString(36)}`;
    this.#record = new LeaseRecord({ client, clock, at: lease, identity: this.#identity, leaseDuration });
  }

  /** Whether we lead at this very moment. Right even after the process stood still: it looks at the time, not at a flag. */
  get leading(): boolean {
    return this.#renewed !== undefined && this.#sinceRenewal(this.#renewed) < this.#renewDeadline;
  }

  /** Stands for election until `signal` ends it; then gives the Lease back. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (await this.#tryOnce(signal)) await this.#term(signal);
      await this.#pause(signal);
    }
  }

  async #term(signal: AbortSignal): Promise<void> {
    const { lead, log } = this.#options;
    const term = new AbortController();
    log.info({ lease: this.#options.lease, identity: this.#identity }, "leading");
    const work = (async () => lead(term.signal))().catch((err: unknown) => {
      if (!term.signal.aborted) log.error({ err }, "the leader's work failed; standing for election again");
    });
    try {
      await this.#holdOn(signal, work);
    } finally {
      // Whatever happened: nobody works without a lease.
      const lost = !this.leading;
      term.abort(new Error(lost ? "the lease was lost" : "the term is over"));
      await this.#endTerm(work);
      log[lost ? "warn" : "info"]({ lease: this.#options.lease }, lost ? "no longer leading" : "gave leadership back");
      await work;
    }
  }

  async #endTerm(work: Promise<void>): Promise<void> {
    // What the leader still does, it does on its own lease: giving it back earlier would let two lead.
    const end = new AbortController();
    await Promise.race([work, this.#untilLost(end.signal)]);
    end.abort();
    const wasLeading = this.leading;
    // Before the release is sent: the next one may lead before its answer is back.
    this.#renewed = undefined;
    if (wasLeading) await this.#release();
  }

  /** Renews again and again; returns when leadership or the work is over. */
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

  /** Waits for the moment at which we stop leading by ourselves; a renewal moves it on. */
  async #untilLost(signal: AbortSignal): Promise<void> {
    try {
      while (this.#renewed !== undefined && this.leading) {
        const rest = this.#renewDeadline - this.#sinceRenewal(this.#renewed);
        // Looking again now and then finds a calendar that jumped, which moves no timer.
        await this.#options.clock.sleep(milliseconds(Math.max(1, Math.min(rest, this.#retryPeriod / 4))), signal);
      }
    } catch {
      // Ended: nobody waits for it any more.
    }
  }

  /** One attempt to take or renew the Lease; true when it is ours now. */
  async #tryOnce(signal: AbortSignal): Promise<boolean> {
    const { log } = this.#options;
    let ours = false;
    try {
      const sent = await this.#record.take(signal, milliseconds(this.#renewDeadline / 2));
      if (sent !== undefined) {
        this.#renewed = sent;
        ours = this.leading;
      } else if (!this.#record.isOurs) this.#renewed = undefined;
    } catch (err) {
      if (signal.aborted) return false;
      const expected = isApiError(err, "conflict", "alreadyExists");
      log[expected ? "debug" : "warn"]({ err }, "the lease could not be taken or renewed");
    }
    this.#tell(this.#record.holder);
    return ours;
  }

  #tell(leader: string | undefined): void {
    if (leader === this.#leader) return;
    this.#leader = leader;
    try {
      this.#options.onLeader?.(leader);
    } catch (err) {
      this.#options.log.error({ err }, "a listener failed on a change of leader");
    }
  }

  async #release(): Promise<void> {
    try {
      await this.#record.release(this.#retryPeriod);
    } catch (err) {
      this.#options.log.debug({ err }, "the lease could not be given back; it ends by itself");
    }
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const length = milliseconds(jittered(this.#retryPeriod, SPREAD, random));
    await clock.sleep(length, signal).catch(() => undefined);
  }

  /**
   * The longer of what both kinds of time say. Monotonic time stands still while a machine sleeps, the calendar does not:
   * whoever wakes up after an hour has lost its lease although its own clock says a second passed.
   */
  #sinceRenewal({ monotonic, calendar }: DualTimestamp): number {
    const { clock } = this.#options;
    return Math.max(elapsed(monotonic, clock.monotonic()), between(calendar, clock.now()));
  }
}
