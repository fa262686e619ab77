import { arrivalsConfigMap } from "../../../core/api/index.ts";
import { ArrivalHistory, decodeArrivals, encodeArrivals, type RecordedArrivals } from "../../../core/fit/index.ts";
import { type Instant, instant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeClient, type KubeObject, resources } from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";

export interface ArrivalStoreOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly namespace: string;
  readonly arrivals: ArrivalHistory;
  readonly mayWrite: () => boolean;
  readonly onRestored?: (since: Instant) => void;
}

const KEY = "arrivals.json";
/** Sooner than the rest, so that an operator that is often restarted stores something. */
const FIRST_SAVE = milliseconds(10_000);
const SAVE_EVERY = milliseconds(300_000);
/** A ConfigMap holds at most 1 MiB. */
const MAX_CHARACTERS = 500_000;
const CALL = { timeout: milliseconds(10_000) } as const;

/** Counts arrivals for sleep decisions per minute. */
export const sleepArrivals = (): ArrivalHistory => new ArrivalHistory(milliseconds(60_000));

/** The ConfigMap as an operator stores it that has watched the arrival of these pods. */
export function storedArrivals(
  pods: Iterable<Parameters<ArrivalHistory["record"]>[0]>,
  now: Instant,
): { readonly name: string; readonly data: Readonly<Record<string, string>> } {
  const arrivals = sleepArrivals();
  for (const pod of pods) arrivals.record(pod);
  return { name: arrivalsConfigMap, data: dataOf(arrivals, now) };
}

const dataOf = (arrivals: ArrivalHistory, now: Instant): Readonly<Record<string, string>> => ({
  [KEY]: encodeArrivals(arrivals.recorded(now), MAX_CHARACTERS),
});

/** Keeps the arrivals of pods in a ConfigMap, so that the reserve outlives a restart. Without it the history starts empty. */
export class ArrivalStore {
  readonly #options: ArrivalStoreOptions;

  constructor(options: ArrivalStoreOptions) {
    this.#options = options;
  }

  /** Reads what an earlier leader stored, then stores the arrivals from time to time, until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      await this.#load(signal);
      for (let pause = FIRST_SAVE; ; pause = SAVE_EVERY) {
        await clock.sleep(pause, signal);
        await this.#save(signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { client, log, namespace, arrivals, onRestored } = this.#options;
    try {
      const at = { name: arrivalsConfigMap, namespace };
      const { data } = await client.get<KubeObject & { readonly data?: Readonly<Record<string, string>> }>(
        resources.configMaps,
        at,
        { ...CALL, signal },
      );
      const stored = decodeArrivals(data?.[KEY] ?? "");
      if (stored === undefined)
        log.warn({ configMap: at.name }, "stored pod arrivals are damaged; starting with an empty history");
      else {
        arrivals.restore(stored);
        onRestored?.(instant(firstSlot(stored) * stored.slot));
      }
    } catch (err) {
      if (signal.aborted || isApiError(err, "notFound")) return;
      log.warn({ err }, "stored pod arrivals cannot be read; starting with an empty history");
    }
  }

  async #save(signal: AbortSignal): Promise<void> {
    const { client, clock, log, namespace, arrivals, mayWrite } = this.#options;
    if (!mayWrite()) return;
    try {
      const data = dataOf(arrivals, clock.now());
      const at = { name: arrivalsConfigMap, namespace };
      await client.apply(resources.configMaps, at, { data }, { ...CALL, signal, force: true });
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, "pod arrivals cannot be stored; retrying in five minutes");
    }
  }
}

/** The first slot with an arrival, or the end of what was stored if there was none. */
function firstSlot({ end, slots }: RecordedArrivals): number {
  let first = end;
  for (const [slot] of [...slots.cpu, ...slots.gpu]) first = Math.min(first, slot);
  return first;
}
