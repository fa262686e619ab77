import { inspect } from "node:util";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../system.ts";

/** A bound ends a test that hangs. It is no measure of speed, so it leaves room for a machine that does much else. */
const MIN_BOUND_MS = 180_000;
const FIRST_PAUSE_MS = 1;
const MAX_PAUSE_MS = 200;
/** Node's names of requests that end by themselves. */
const PENDING_WORK = /^(FSReq|CloseReq|TCPConnect|PipeConnect|GetAddrInfo|Zlib|.*Job$|.*Request$)/;

interface EventuallyOptions {
  /** At least three minutes. */
  readonly boundMs?: number;
  /** Runs before each further look, for example to advance a virtual clock. */
  readonly between?: () => Promise<void>;
}

/** Looks until `look` returns something other than undefined, null and false, and returns that. Errors of `look` end the wait. */
export async function eventually<Value>(
  look: () => Value | Promise<Value>,
  options: EventuallyOptions = {},
): Promise<Exclude<Value, undefined | null | false>> {
  const wait = new BoundedWait(look, options);
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== null && value !== false)
      return value as Exclude<Value, undefined | null | false>;
    await wait.pause(() => new Error(`${wait.text}; it last returned ${inspect(value)}`));
  }
}

/** Runs `check` until it does not throw, and returns its result. */
export async function eventuallyPasses<Value>(
  check: () => Value | Promise<Value>,
  options: EventuallyOptions = {},
): Promise<Value> {
  const wait = new BoundedWait(check, options);
  for (;;) {
    try {
      return await check();
    } catch (error) {
      await wait.pause(() => {
        const last = error instanceof Error ? error.message : inspect(error);
        return new Error(`${wait.text}; it last failed with: ${last}`, { cause: error });
      });
    }
  }
}

/**
 * Lets real work go on while a virtual clock drives a test: sockets get a turn, and what waits for a file, a connection or a
 * thread of Node ends. So virtual time does not run ahead of them on a busy machine.
 */
export async function realWork(): Promise<void> {
  await systemClock.sleep(milliseconds(1));
  await eventually(() => !process.getActiveResourcesInfo().some((resource) => PENDING_WORK.test(resource)));
}

/**
 * Real time that a part of the test's world takes: a machine that boots, an outage, another writer. The outcome of a test may not
 * depend on what a program gets done within it. Returns the milliseconds that it really took.
 */
export async function simulatedDelay(length: number, signal?: AbortSignal): Promise<number> {
  const begun = systemClock.monotonic();
  await systemClock.sleep(milliseconds(length), signal);
  return systemClock.monotonic() - begun;
}

/**
 * Lets a program of a real cluster run on, while the test looks for something that it may not do. A slow program does less, so the
 * test sees less; it does not fail.
 */
export const watchFor = async (length: number): Promise<void> => systemClock.sleep(milliseconds(length));

/** Pauses between looks that grow, up to a bound. */
class BoundedWait {
  readonly text: string;
  readonly #end: number;
  readonly #between: EventuallyOptions["between"];
  #nextPause = FIRST_PAUSE_MS;

  constructor(awaited: () => unknown, { boundMs = MIN_BOUND_MS, between }: EventuallyOptions) {
    if (!(boundMs >= MIN_BOUND_MS)) {
      throw new RangeError(`a test waits at least ${MIN_BOUND_MS} ms before it gives up, not ${boundMs} ms`);
    }
    this.#between = between;
    this.#end = systemClock.monotonic() + boundMs;
    this.text = `not within ${boundMs / 1000} s: ${awaited.toString().replaceAll(/\s+/g, " ").slice(0, 300)}`;
  }

  async pause(tooLate: () => Error): Promise<void> {
    if (systemClock.monotonic() >= this.#end) throw tooLate();
    if (this.#between !== undefined) {
      await this.#between();
      return realWork();
    }
    await systemClock.sleep(milliseconds(this.#nextPause));
    this.#nextPause = Math.min(MAX_PAUSE_MS, this.#nextPause * 1.5);
  }
}
