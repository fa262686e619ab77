import type { Instant } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { ExtenderClient, type ExtenderClientConfig } from "../../platform/embedded/index.ts";

type Filter = ExtenderClient["filter"];

/** Far more pods than are filtered before their placement is checked. */
const REMEMBERED = 20_000;

/** An extender client that records when it last filtered nodes for each pod. */
export class RecordingExtender extends ExtenderClient {
  readonly #clock: Clock;
  readonly #asked = new Map<string, Instant>();

  /** `clock`: simulated time. */
  constructor(config: ExtenderClientConfig, clock: Clock) {
    super(config);
    this.#clock = clock;
  }

  /** In simulated time; undefined if it was never called or the entry was evicted. */
  lastFilteredAt(pod: string): Instant | undefined {
    return this.#asked.get(pod);
  }

  override async filter(...[pod, nodes, signal]: Parameters<Filter>): ReturnType<Filter> {
    const { namespace = "default", name } = pod.metadata;
    const key = `${namespace}/${name}`;
    // Re-insertion moves the entry to the end: the oldest is evicted first.
    this.#asked.delete(key);
    this.#asked.set(key, this.#clock.now());
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > REMEMBERED && oldest !== undefined) this.#asked.delete(oldest);
    return super.filter(pod, nodes, signal);
  }
}
