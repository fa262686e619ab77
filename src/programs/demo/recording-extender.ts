import type { Instant } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { Extender, type ExtenderConfig } from "../../platform/embedded/index.ts";

type Filter = Extender["filter"];

/** Many times as many as can be asked about until their placement is looked at. */
const REMEMBERED = 20_000;

/** An extender as the scheduler asks it, with a memory of when it was last asked where a pod may go. */
export class RecordingExtender extends Extender {
  readonly #clock: Clock;
  readonly #asked = new Map<string, Instant>();

  /** `clock`: simulated time. */
  constructor(config: ExtenderConfig, clock: Clock) {
    super(config);
    this.#clock = clock;
  }

  /** In simulated time; undefined where it never was, or too long ago. */
  lastFilteredAt(pod: string): Instant | undefined {
    return this.#asked.get(pod);
  }

  override async filter(...[pod, nodes, signal]: Parameters<Filter>): ReturnType<Filter> {
    const { namespace = "default", name } = pod.metadata;
    const key = `${namespace}/${name}`;
    // Whoever was asked about last is forgotten last.
    this.#asked.delete(key);
    this.#asked.set(key, this.#clock.now());
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > REMEMBERED && oldest !== undefined) this.#asked.delete(oldest);
    return super.filter(pod, nodes, signal);
  }
}
