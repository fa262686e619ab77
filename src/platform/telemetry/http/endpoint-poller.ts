import { type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import { backoffDelay } from "../../backoff/index.ts";
import { type Clock, endsWithin } from "../../clock/index.ts";
import type { RandomSource } from "../../random/index.ts";

export interface EndpointPollerOptions {
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Endpoints asked at once. */
  readonly parallel: number;
  /** An endpoint that has not answered by then no longer counts among them, though its answer is still awaited. */
  readonly patience: Milliseconds;
  /** Endpoints awaited in all. */
  readonly maxOpen: number;
  /** No endpoint is asked any more when a round has lasted so long. */
  readonly budget: Milliseconds;
}

/** How a round left an endpoint. */
export type PollOutcome = "answered" | "failed" | "waiting" | "deferred";

interface Trouble {
  readonly failures: number;
  readonly until: number;
}

const BACKOFF = { first: milliseconds(15_000), longest: milliseconds(300_000), jitter: 0.3 };

/**
 * Asks thousands of endpoints over and over, so that dead ones cost only themselves. One that failed is left alone for a
 * while, longer each time, and is asked after all others when its time has come. One that is silent gives its place to the
 * next after a moment. A round that runs out of time is continued by the next one, which starts where it ended.
 */
export class EndpointPoller {
  readonly #options: EndpointPollerOptions;
  readonly #troubles = new Map<string, Trouble>();
  #next: string | undefined;

  constructor(options: EndpointPollerOptions) {
    this.#options = options;
  }

  /** `ask` says whether the endpoint answered; when it throws, the round ends with that. */
  async run(
    names: readonly string[],
    ask: (name: string) => Promise<boolean>,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, PollOutcome>> {
    signal?.throwIfAborted();
    const started = this.#options.clock.monotonic();
    const outcomes = new Map<string, PollOutcome>(names.map((name) => [name, "waiting"]));
    this.#forgetAllBut(outcomes);
    const queue = this.#inTurn([...outcomes.keys()], started);
    for (const name of queue) outcomes.set(name, "deferred");
    const unasked = await this.#askAll(queue, started, async (name) => {
      const answered = await ask(name);
      outcomes.set(name, answered ? "answered" : "failed");
      this.#learn(name, answered);
    });
    this.#next = unasked;
    return outcomes;
  }

  /** From where the last round ended; those that failed before come last, however long they have waited. */
  #inTurn(names: readonly string[], now: MonotonicInstant): string[] {
    const start = Math.max(0, this.#next === undefined ? 0 : names.indexOf(this.#next));
    const rotated = [...names.slice(start), ...names.slice(0, start)];
    const due = rotated.filter((name) => (this.#troubles.get(name)?.until ?? now) <= now);
    return due.toSorted((a, b) => Number(this.#troubles.has(a)) - Number(this.#troubles.has(b)));
  }

  /** Gives the name at which the time was over, if it was. */
  async #askAll(
    queue: readonly string[],
    started: MonotonicInstant,
    ask: (name: string) => Promise<void>,
  ): Promise<string | undefined> {
    const { clock, parallel, patience, maxOpen, budget } = this.#options;
    const open = new Set<Promise<void>>();
    const failures: unknown[] = [];
    let place = 0;
    const mayAsk = () => failures.length === 0 && clock.monotonic() - started < budget;
    const next = () => (mayAsk() ? queue[place++] : undefined);
    const worker = async (): Promise<void> => {
      for (let name = next(); name !== undefined; name = next()) {
        const asked: Promise<void> = ask(name)
          .catch((error: unknown) => void failures.push(error))
          .finally(() => open.delete(asked));
        open.add(asked);
        await endsWithin(clock, patience, asked);
        // The oldest is the next to run out of time.
        while (open.size >= maxOpen) await open.values().next().value;
      }
    };
    await Promise.all(Array.from({ length: parallel }, worker));
    await Promise.all(open);
    if (failures.length > 0) throw failures[0];
    return queue[place];
  }

  #learn(name: string, answered: boolean): void {
    if (answered) {
      this.#troubles.delete(name);
      return;
    }
    const { clock, random } = this.#options;
    const failures = (this.#troubles.get(name)?.failures ?? 0) + 1;
    this.#troubles.set(name, { failures, until: clock.monotonic() + backoffDelay(failures, BACKOFF, random) });
  }

  #forgetAllBut(names: ReadonlyMap<string, unknown>): void {
    for (const name of this.#troubles.keys()) if (!names.has(name)) this.#troubles.delete(name);
  }
}
