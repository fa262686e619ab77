import { milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import type { NodeRunner } from "./node-runner.ts";

/** Kubernetes gives a pod 30 s to end. */
const FAREWELL = milliseconds(20_000);

/** Restores what is in force where that is wished, and says so, within the time there is. */
export async function farewell(
  nodes: { each(work: (runner: NodeRunner) => Promise<void>): Promise<void> },
  { restore, clock, log }: { readonly restore: boolean; readonly clock: Clock; readonly log: Logger },
): Promise<void> {
  const over = new AbortController();
  const timer = clock.after(FAREWELL, () => over.abort(new Error("the time to end in good order is over")));
  await nodes.each(async (runner) => {
    try {
      const stuck = restore ? await runner.control.release(over.signal) : [];
      for (const problem of stuck) log.error({ node: runner.name, problem }, "a limit was not restored");
      await runner.finish(restore && stuck.length === 0);
    } catch (err) {
      log.error({ err, node: runner.name }, "a limit was not restored; `joulie agent restore` does it by hand");
    }
  });
  timer.cancel();
}
