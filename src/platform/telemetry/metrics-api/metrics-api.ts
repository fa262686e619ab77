import * as z from "zod";
import type { NodeUsage } from "../../../core/planning/index.ts";
import {
  instant,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
  parseQuantity,
} from "../../../core/units/index.ts";
import { backoffDelay } from "../../backoff/index.ts";
import type { Clock } from "../../clock/index.ts";
import { isApiError, type KubeClient } from "../../kube/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { DropCounter, type DropReason, faultOf } from "../dropped-samples.ts";

const PATH = "/apis/metrics.k8s.io/v1beta1/nodes";
const CALL = { timeout: milliseconds(10_000), retries: 0 } as const;

export interface UsageReadings {
  /** By node; empty while the API is not available. */
  readonly usage: ReadonlyMap<string, NodeUsage>;
  readonly dropped: ReadonlyMap<DropReason, number>;
}

export interface MetricsApiOptions {
  readonly client: Pick<KubeClient, "raw">;
  readonly clock: Clock;
  readonly random: RandomSource;
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
  #retryAt: MonotonicInstant = monotonicInstant(-Infinity);

  constructor(options: MetricsApiOptions) {
    this.#options = options;
  }

  /** Rejects only with the signal's reason. */
  async read(signal?: AbortSignal): Promise<UsageReadings> {
    const { client, clock } = this.#options;
    if (clock.monotonic() < this.#retryAt) return NO_USAGE;
    try {
      const list = nodeList.safeParse(await client.raw(PATH, { ...CALL, ...(signal && { signal }) })).data;
      if (list === undefined) return this.#failed();
      this.#failures = 0;
      return this.#usageIn(list.items);
    } catch (error) {
      if (!isApiError(error)) throw error;
      return this.#failed();
    }
  }

  #usageIn(items: readonly unknown[]): UsageReadings {
    const now = this.#options.clock.now();
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
      const fault = faultOf({ value: cpu.value, at }, now);
      if (fault === undefined) usage.set(read.metadata.name, { cpuCores: cpu.value, at });
      else drops.add(fault);
    }
    return { usage, dropped: drops.counts };
  }

  /** Not reported, because many clusters have no metrics-server. */
  #failed(): UsageReadings {
    const { clock, random } = this.#options;
    this.#failures++;
    this.#retryAt = monotonicInstant(clock.monotonic() + backoffDelay(this.#failures, BACKOFF, random));
    return NO_USAGE;
  }
}

const NO_USAGE: UsageReadings = { usage: new Map(), dropped: new Map() };
