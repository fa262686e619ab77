import { type Instant, type Milliseconds, type MonotonicInstant, monotonicInstant } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { KubeClient } from "../client/client.ts";
import { isApiError } from "../client/errors.ts";
import type { KubeObject, ObjectName } from "../client/object.ts";
import { resources } from "../client/resources.ts";

export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

interface LeaseRecordOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** The time that the Lease shows. */
  readonly calendar: Pick<Clock, "now">;
  readonly at: ObjectName;
  readonly identity: string;
  readonly leaseDuration: Milliseconds;
}

/** A point in time on the monotonic clock and the wall clock. */
export interface DualTimestamp {
  readonly monotonic: MonotonicInstant;
  readonly calendar: Instant;
}

/** The last observed Lease, its observation time, and conditional writes on it. */
export class LeaseRecord {
  readonly #options: LeaseRecordOptions;
  #seen: Lease | undefined;
  #seenAt = monotonicInstant(0);

  constructor(options: LeaseRecordOptions) {
    this.#options = options;
  }

  get holder(): string | undefined {
    return this.#seen?.spec?.holderIdentity || undefined;
  }

  get isOurs(): boolean {
    return this.holder === this.#options.identity;
  }

  /** Acquires or renews the Lease and returns when the write was sent; undefined while another candidate holds it. */
  async take(signal: AbortSignal, timeout: Milliseconds): Promise<DualTimestamp | undefined> {
    const options = { signal, timeout, retries: 0, urgent: true } as const;
    // Optimistic renewal: one write, which conflicts if another candidate took the Lease.
    if (this.isOurs) {
      try {
        return await this.#write(options);
      } catch (error) {
        if (!isApiError(error, "conflict", "notFound")) throw error;
      }
    }
    const { client, at, clock, calendar, identity, leaseDuration } = this.#options;
    try {
      this.#see(await client.get<Lease>(resources.leases, at, options));
    } catch (error) {
      if (!isApiError(error, "notFound")) throw error;
      this.#seen = undefined;
      const sent = this.#now();
      const spec = { ...newTerm(identity, leaseDuration, calendar.now()), leaseTransitions: 0 };
      const created = await client.create<Lease>(
        resources.leases,
        { metadata: { name: at.name, ...(at.namespace !== undefined && { namespace: at.namespace }) }, spec },
        { ...options, ...(at.namespace !== undefined && { namespace: at.namespace }) },
      );
      this.#see(created);
      return sent;
    }
    if (this.holder !== undefined && !this.isOurs && clock.monotonic() < this.#seenAt + this.#duration())
      return undefined;
    return this.#write(options);
  }

  /** Releases the Lease, so that the next leader need not wait for it to expire. */
  async release(timeout: Milliseconds): Promise<void> {
    const options = { timeout, retries: 0, urgent: true } as const;
    try {
      await this.#giveBack(options);
    } catch (error) {
      if (!isApiError(error, "conflict")) throw error;
      // A renewal whose response was lost has changed the resourceVersion.
      this.#see(await this.#options.client.get<Lease>(resources.leases, this.#options.at, options));
      await this.#giveBack(options);
    }
  }

  async #giveBack(options: WriteOptions): Promise<void> {
    if (!this.isOurs || this.#seen === undefined) return;
    const now = microTime(this.#options.calendar.now());
    const spec = { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
    this.#see(await this.#patch(this.#seen, spec, options));
  }

  async #write(options: WriteOptions): Promise<DualTimestamp> {
    const { identity, leaseDuration, calendar } = this.#options;
    const seen = this.#seen;
    if (seen === undefined) throw new Error("a lease is read before it is written");
    const sent = this.#now();
    const term = newTerm(identity, leaseDuration, calendar.now());
    const { acquireTime: _, ...renewal } = term;
    const spec = this.isOurs
      ? renewal
      : {
          ...term,
          leaseTransitions: (seen.spec?.leaseTransitions ?? 0) + 1,
        };
    this.#see(await this.#patch(seen, spec, options));
    return sent;
  }

  async #patch(seen: Lease, spec: NonNullable<Lease["spec"]>, options: WriteOptions): Promise<Lease> {
    const { client, at } = this.#options;
    const { resourceVersion } = seen.metadata;
    return client.mergePatch<Lease>(resources.leases, at, { metadata: { resourceVersion }, spec }, options);
  }

  /** The local time of the last observed change, because the clocks of other machines may differ. */
  #see(lease: Lease): void {
    if (lease.metadata.resourceVersion !== this.#seen?.metadata.resourceVersion) {
      this.#seenAt = this.#options.clock.monotonic();
    }
    this.#seen = lease;
  }

  #duration(): number {
    const { leaseDurationSeconds = 0 } = this.#seen?.spec ?? {};
    return leaseDurationSeconds * 1000;
  }

  #now(): DualTimestamp {
    const { clock } = this.#options;
    return { monotonic: clock.monotonic(), calendar: clock.now() };
  }
}

interface WriteOptions {
  readonly signal?: AbortSignal;
  readonly timeout: Milliseconds;
  readonly retries: 0;
  readonly urgent: true;
}

function newTerm(holderIdentity: string, leaseDuration: Milliseconds, at: Instant) {
  const time = microTime(at);
  return {
    holderIdentity,
    leaseDurationSeconds: Math.ceil(leaseDuration / 1000),
    acquireTime: time,
    renewTime: time,
  };
}

/** Kubernetes' MicroTime: always six digits. */
export const microTime = (at: Instant): string => new Date(at).toISOString().replace("Z", "000Z");
