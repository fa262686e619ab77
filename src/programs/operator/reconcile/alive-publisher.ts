import { operatorConfigMap } from "../../../core/api/index.ts";
import { elapsed, isoTime, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type KubeClient, type OperatorState, resources } from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";

export interface AlivePublisherOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly namespace: string;
  /** The settings that other programs need, as text by variable. */
  readonly shared: Readonly<Record<string, string>>;
  readonly mayWrite: () => boolean;
}

const INTERVAL = milliseconds(60_000);
const MAX_PAUSE = milliseconds(180_000);
const CALL = { timeout: milliseconds(10_000), retries: 0, force: true } as const;
/** Agents write a time at most five minutes after it was published. */
const REMEMBERED = 10;

/** Publishes shared settings, and when all twins were as decided (docs/design/0014-heartbeats-at-rest.md). */
export class AlivePublisher {
  readonly #options: AlivePublisherOptions;
  readonly #published: string[] = [];
  #sentAt: MonotonicInstant | undefined;
  #writing: Promise<void> | undefined;
  #hasFailed = false;
  #hasSettings = false;

  constructor(options: AlivePublisherOptions) {
    this.#options = options;
  }

  /** Whether the time is one that this leader published: then an agent wrote it. */
  has(lastUpdated: string): boolean {
    return this.#published.includes(lastUpdated);
  }

  /** Whether agents have a new time to copy, as far as is known. One write that keeps failing ends that for all twins. */
  get works(): boolean {
    if (this.#hasFailed || this.#sentAt === undefined) return false;
    return elapsed(this.#sentAt, this.#options.clock.monotonic()) <= MAX_PAUSE;
  }

  /** Publishes at most once per minute. `isSettled`: all twins are as decided. Before the first such time it publishes settings. */
  publish(isSettled: boolean): void {
    const { clock } = this.#options;
    const now = clock.monotonic();
    if (this.#writing !== undefined || (this.#sentAt !== undefined && elapsed(this.#sentAt, now) < INTERVAL)) return;
    if (!isSettled && this.#hasSettings) return;
    if (isSettled) this.#sentAt = now;
    this.#writing = this.#write(isSettled ? isoTime(clock.now()) : undefined).finally(() => {
      this.#writing = undefined;
    });
  }

  async stop(): Promise<void> {
    await this.#writing;
  }

  async #write(aliveAt: string | undefined): Promise<void> {
    const { client, log, namespace, shared, mayWrite } = this.#options;
    // An agent may read it before the response arrives here.
    if (aliveAt !== undefined) this.#published.push(aliveAt);
    if (this.#published.length > REMEMBERED) this.#published.shift();
    const data: OperatorState = { ...shared, ...(aliveAt !== undefined && { aliveAt }) };
    const beforeSending = () => {
      if (!mayWrite()) throw new Error("no longer the leader, or stopped");
    };
    try {
      const at = { name: operatorConfigMap, namespace };
      await client.apply(resources.configMaps, at, { data }, { ...CALL, beforeSending });
      this.#hasFailed = false;
      this.#hasSettings = true;
    } catch (err) {
      if (this.#hasFailed || !mayWrite()) return;
      this.#hasFailed = true;
      log.warn({ err }, "the operator's state is not written: agents do not refresh NodeTwins, so the operator does");
    }
  }
}
