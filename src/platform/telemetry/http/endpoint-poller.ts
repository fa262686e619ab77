import { type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import { backoffDelay } from "../../backoff/index.ts";
import { type Clock, endsWithin } from "../../clock/index.ts";
import type { RandomSource } from "../../random/index.ts";

export interface EndpointPollerOptions {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly parallel: number;
  /** An endpoint that takes longer frees its slot for the next one, while its response is still awaited. */
  readonly patience: Milliseconds;
  /** The maximum number of calls in flight, slots included. */
  readonly maxOpen: number;
  /** A poll that has lasted this long starts no further calls. */
  readonly budget: Milliseconds;
}

/** The state of an endpoint after a poll. `waiting` = in backoff, `deferred` = the time budget ran out. */
export type PollOutcome = "answered" | "failed" | "waiting" | "deferred";

interface Trouble {
  readonly failures: number;
  readonly until: number;
}

const BACKOFF = { first: milliseconds(15_000), longest: milliseconds(300_000), jitter: 0.3 };

/**
 * Polls thousands of endpoints repeatedly, so that dead ones do not delay the others. An endpoint that failed is skipped with
 * exponential backoff and then polled after all others. A slow endpoint frees its slot after `patience`. A poll that uses up its time
 * budget is continued by the next one.
 */
export class EndpointPoller {
  readonly #options: EndpointPollerOptions;
  readonly #troubles = new Map<string, Trouble>();
  #next: string | undefined;

  constructor(options: EndpointPollerOptions) {
    this.#options = options;
  }

  /** `ask` returns whether the endpoint answered. If it throws, the poll rejects with that error. */
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

  /** The endpoints to poll, from where the last poll ended. Endpoints that failed before come last. */
  #inTurn(names: readonly string[], now: MonotonicInstant): string[] {
    const start = Math.max(0, this.#next === undefined ? 0 : names.indexOf(this.#next));
    const rotated = [...names.slice(start), ...names.slice(0, start)];
    const due = rotated.filter((name) => (this.#troubles.get(name)?.until ?? now) <= now);
    return due.toSorted((a, b) => Number(this.#troubles.has(a)) - Number(this.#troubles.has(b)));
  }

  /** Returns the first endpoint that was not polled because the time budget ran out. */
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
        // The oldest call is the next to time out.
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
