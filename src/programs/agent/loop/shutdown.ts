import { type ErrorCode, errorMessageOf } from "../../../core/api/index.ts";
import { milliseconds, type RandomSource } from "../../../core/units/index.ts";
import { backoffDelay } from "../../../platform/backoff/index.ts";
import { type Clock, endsWithin } from "../../../platform/clock/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { NodeRunner } from "./node-runner.ts";
import { shutdownTimes } from "./shutdown-times.ts";

/** A busy driver rejects a restore and accepts it a moment later. */
const BACKOFF = { first: milliseconds(250), longest: milliseconds(2000), jitter: 0.2 };
const NAMED_NODES = 9;

const NOT_RESTORED: ErrorCode = "JOULIE_E_NOT_RESTORED";

interface Nodes {
  each(work: (runner: NodeRunner) => Promise<void>): Promise<void>;
}

export interface ShutdownOptions {
  readonly restore: boolean;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
}

/** Restores the original limits if requested, then reports the final status, both with a deadline. */
export async function restoreAndReport(nodes: Nodes, options: ShutdownOptions): Promise<void> {
  const { restore, clock, log } = options;
  const stuck = restore ? await restoreAll(nodes, options) : NOTHING_STUCK;
  reportStuck(stuck, log);
  // Reporting is least important, so an unreachable API server does not delay the exit.
  let over = false;
  const reported = nodes.each(async (runner) => {
    if (!over) await runner.reportStopped(restore, stuck.get(runner.name));
  });
  over = !(await endsWithin(clock, shutdownTimes.report, reported));
}

type Stuck = ReadonlyMap<string, readonly string[]>;
const NOTHING_STUCK: Stuck = new Map();

/** Logs one line for all nodes: a pool with an unreachable service has hundreds. */
function reportStuck(stuck: Stuck, log: Logger): void {
  const all = [...stuck].map(([node, problems]) => ({ node, problem: problems.join("; ") }));
  const [first, ...others] = all;
  if (first === undefined) return;
  const more =
    others.length === 0 ? {} : { nodes: all.length, others: others.slice(0, NAMED_NODES).map(({ node }) => node) };
  log.error({ code: NOT_RESTORED, ...first, ...more }, "limits were not restored; run `joulie agent restore`");
}

/** Retries until the deadline. Returns the nodes on which limits of the agent are still in force, and why. */
async function restoreAll(nodes: Nodes, { clock, random }: ShutdownOptions): Promise<Stuck> {
  const stuck = new Map<string, readonly string[]>();
  await nodes.each(async ({ name, control }) => {
    if (control.hasLimitsInForce) stuck.set(name, ["not restored before the shutdown deadline"]);
  });
  const over = new AbortController();
  const retryAll = async (): Promise<void> => {
    for (let failures = 1; ; failures++) {
      await nodes.each(async (runner) => {
        if (over.signal.aborted || !stuck.has(runner.name)) return;
        const problems = await restoreProblems(runner, over.signal);
        if (problems.length === 0) stuck.delete(runner.name);
        else if (!over.signal.aborted) stuck.set(runner.name, problems);
      });
      if (stuck.size === 0 || over.signal.aborted) return;
      await clock.sleep(backoffDelay(failures, BACKOFF, random), over.signal).catch(() => undefined);
    }
  };
  if (!(await endsWithin(clock, shutdownTimes.restore, retryAll())))
    over.abort(new Error("the shutdown deadline has passed"));
  return new Map(stuck);
}

async function restoreProblems({ control }: NodeRunner, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return await control.release(signal);
  } catch (error) {
    return [errorMessageOf(error)];
  }
}
