import { milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import type { NodeRunner } from "./node-runner.ts";

/** Kubernetes gives a pod 30 s to end. */
const FAREWELL = milliseconds(20_000);

interface Nodes {
  each(work: (runner: NodeRunner) => Promise<void>): Promise<void>;
}

/** Restores what is in force where that is wished, and then says so, within the time there is. */
export async function farewell(
  nodes: Nodes,
  { restore, clock, log }: { readonly restore: boolean; readonly clock: Clock; readonly log: Logger },
): Promise<void> {
  const over = new AbortController();
  const late = Promise.withResolvers<void>();
  const timer = clock.after(FAREWELL, () => {
    over.abort(new Error("the time to end in good order is over"));
    late.resolve();
  });
  const stuck = new Set<string>();
  if (restore) {
    await nodes.each(async (runner) => {
      for (const problem of await released(runner, over.signal)) {
        stuck.add(runner.name);
        log.error({ node: runner.name, problem }, "a limit was not restored; `joulie agent restore` does it by hand");
      }
    });
  }
  // Of all that is left to do, to say so is the least: nobody waits for an API that is away.
  const told = nodes.each(async (runner) => {
    if (!over.signal.aborted) await runner.finish(restore && !stuck.has(runner.name));
  });
  await Promise.race([told, late.promise]);
  timer.cancel();
}

async function released({ control }: NodeRunner, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return await control.release(signal);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
