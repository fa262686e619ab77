import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";

/** The kernel applies some writes in a work queue: a written value may take this long to appear. */
const TIMEOUT = milliseconds(100);
const INTERVAL = milliseconds(10);

/**
 * Reads until the value matches, for at most a tenth of a second, and returns the last value. Throws the reader's error or the
 * signal's reason.
 */
export async function readBack<Value>(
  clock: Clock,
  read: () => Value | Promise<Value>,
  matches: (value: Value) => boolean,
  signal?: AbortSignal,
): Promise<Value> {
  const deadline = clock.monotonic() + TIMEOUT;
  let value = await read();
  while (!matches(value) && clock.monotonic() < deadline) {
    await clock.sleep(INTERVAL, signal);
    value = await read();
  }
  return value;
}
