import type { Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";

/** Rejects after `length`, for work that cannot be aborted, such as a credential plugin. */
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
