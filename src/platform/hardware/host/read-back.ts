import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";

/** The kernel hands some writes to a work queue: what was written may take this long to be read. */
const PATIENCE = milliseconds(100);
const PAUSE = milliseconds(10);

/**
 * Reads until it reads what was written, or for a tenth of a second. Returns the last value; what reading throws comes out,
 * and so does the signal's reason.
 */
export async function readBack<Value>(
  clock: Clock,
  read: () => Value | Promise<Value>,
  isThere: (value: Value) => boolean,
  signal?: AbortSignal,
): Promise<Value> {
  const until = clock.monotonic() + PATIENCE;
  let value = await read();
  while (!isThere(value) && clock.monotonic() < until) {
    await clock.sleep(PAUSE, signal);
    value = await read();
  }
  return value;
}
