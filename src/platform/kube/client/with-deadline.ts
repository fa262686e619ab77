import type { Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";

/** For work that nobody can end, such as another program's: it is waited for no longer than this. */
export async function withDeadline<Result>(
  length: Milliseconds,
  clock: Clock,
  what: string,
  work: Promise<Result>,
): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = clock.after(length, () => late.reject(new Error(`no ${what} within ${length} ms`)));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    timer.cancel();
  }
}
