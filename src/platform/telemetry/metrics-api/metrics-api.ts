import * as z from "zod";
import type { NodeUsage } from "../../../core/planning/index.ts";
import {
  instant,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
  parseQuantity,
} from "../../../core/units/index.ts";
import { backoffDelay } from "../../backoff/index.ts";
import type { Clock } from "../../clock/index.ts";
import { isApiError, type KubeClient } from "../../kube/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { DropCounter, type DropReason, invalidReason, isStale, STALE_AFTER } from "../dropped-samples.ts";
import { errorMessage } from "../errors.ts";

const PATH = "/apis/metrics.k8s.io/v1beta1/nodes";
const CALL = { timeout: milliseconds(10_000), retries: 0 } as const;

export interface UsageReadings {
  /** By node; empty while the API is not available. */
  readonly usage: ReadonlyMap<string, NodeUsage>;
  readonly dropped: ReadonlyMap<DropReason, number>;
  /** Why there is no usage. Not an error, because many clusters have no metrics-server. */
  readonly unavailable?: string;
}

export interface MetricsApiOptions {
  readonly client: Pick<KubeClient, "raw">;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly staleAfter?: Milliseconds;
}

const nodeList = z.object({ items: z.array(z.unknown()) });
const nodeMetrics = z.object({
  metadata: z.object({ name: z.string() }),
  timestamp: z.string(),
  usage: z.object({ cpu: z.string() }),
});

const BACKOFF = { first: milliseconds(30_000), longest: milliseconds(600_000), jitter: 0.1 };

/** Reads the CPU usage of all nodes with one list call to metrics.k8s.io. Retries a missing or failing API with backoff. */
export class MetricsApi {
  readonly #options: MetricsApiOptions;
  #failures = 0;
  #reason = "";
  #retryAt: MonotonicInstant = monotonicInstant(-Infinity);

  constructor(options: MetricsApiOptions) {
    this.#options = options;
  }

  /** Rejects only with the signal's reason. */
  async read(signal?: AbortSignal): Promise<UsageReadings> {
    const { client, clock } = this.#options;
    if (clock.monotonic() < this.#retryAt) return this.#noUsage();
    try {
      const list = nodeList.safeParse(await client.raw(PATH, { ...CALL, ...(signal && { signal }) })).data;
      if (list === undefined) return this.#failed("the response is not a node list");
      this.#failures = 0;
      return this.#usageIn(list.items);
    } catch (error) {
      if (!isApiError(error)) throw error;
      return this.#failed(errorMessage(error));
    }
  }

  #usageIn(items: readonly unknown[]): UsageReadings {
    const now = this.#options.clock.now();
    const staleAfter = this.#options.staleAfter ?? STALE_AFTER;
    const drops = new DropCounter();
    const usage = new Map<string, NodeUsage>();
    for (const item of items) {
      const read = nodeMetrics.safeParse(item).data;
      const cpu = read && parseQuantity(read.usage.cpu);
      if (read === undefined || cpu?.ok !== true) {
        drops.add("garbled");
        continue;
      }
      const at = instant(Date.parse(read.timestamp));
      const fault = invalidReason(cpu.value, "not negative") ?? (isStale(at, now, staleAfter) ? "stale" : undefined);
      if (fault === undefined) usage.set(read.metadata.name, { cpuCores: cpu.value, at });
      else drops.add(fault);
    }
    return { usage, dropped: drops.counts };
  }

  #failed(reason: string): UsageReadings {
    const { clock, random } = this.#options;
    this.#failures++;
    this.#retryAt = monotonicInstant(clock.monotonic() + backoffDelay(this.#failures, BACKOFF, random));
    this.#reason = reason;
    return this.#noUsage();
  }

  #noUsage = (): UsageReadings => ({ usage: new Map(), dropped: new Map(), unavailable: this.#reason });
}
