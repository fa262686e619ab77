import type { ErrorCode } from "../../../core/api/index.ts";
import { milliseconds, type RandomSource } from "../../../core/units/index.ts";
import { backoffDelay } from "../../../platform/backoff/index.ts";
import { type Clock, endsWithin } from "../../../platform/clock/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { NodeRunner } from "./node-runner.ts";

/** Of the 30 s that Kubernetes gives a pod to end; what was under way has had its part before. */
const RESTORING = milliseconds(12_000);
const TELLING = milliseconds(5000);
/** A driver that still works on something else refuses a restore, and takes it a moment later. */
const BACKOFF = { first: milliseconds(250), longest: milliseconds(2000), jitter: 0.2 };
/** Nodes named in a log line beside the first. */
const NAMED = 9;

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

/** Restores what is in force where that is wished, and then says so, within the time there is. */
export async function restoreAndReport(nodes: Nodes, options: ShutdownOptions): Promise<void> {
  const { restore, clock, log } = options;
  const stuck = restore ? await restoreAll(nodes, options) : NOTHING_STUCK;
  reportStuck(stuck, log);
  // Of all that is left to do, to say so is the least: nobody waits for an API that is away.
  let over = false;
  const told = nodes.each(async (runner) => {
    if (!over) await runner.reportStopped(restore, stuck.get(runner.name));
  });
  over = !(await endsWithin(clock, TELLING, told));
}

type Stuck = ReadonlyMap<string, readonly string[]>;
const NOTHING_STUCK: Stuck = new Map();

/** One line however many nodes there are: a pool whose service is away has hundreds. */
function reportStuck(stuck: Stuck, log: Logger): void {
  const all = [...stuck].map(([node, problems]) => ({ node, problem: problems.join("; ") }));
  const [first, ...others] = all;
  if (first === undefined) return;
  const more = others.length === 0 ? {} : { nodes: all.length, others: others.slice(0, NAMED).map(({ node }) => node) };
  log.error(
    { code: NOT_RESTORED, ...first, ...more },
    "limits were not restored; `joulie agent restore` does it by hand",
  );
}

/** Tries again what fails, until the time is over. Gives the nodes on which something of ours is still in force, and why. */
async function restoreAll(nodes: Nodes, { clock, random }: ShutdownOptions): Promise<Stuck> {
  const stuck = new Map<string, readonly string[]>();
  await nodes.each(async ({ name, control }) => {
    if (control.hasLimitsInForce) stuck.set(name, ["it was not restored in time"]);
  });
  const over = new AbortController();
  const rounds = async (): Promise<void> => {
    for (let failures = 1; ; failures++) {
      await nodes.each(async (runner) => {
        if (over.signal.aborted || !stuck.has(runner.name)) return;
        const problems = await released(runner, over.signal);
        if (problems.length === 0) stuck.delete(runner.name);
        else if (!over.signal.aborted) stuck.set(runner.name, problems);
      });
      if (stuck.size === 0 || over.signal.aborted) return;
      await clock.sleep(backoffDelay(failures, BACKOFF, random), over.signal).catch(() => undefined);
    }
  };
  if (!(await endsWithin(clock, RESTORING, rounds()))) over.abort(new Error("the time to end in good order is over"));
  return new Map(stuck);
}

async function released({ control }: NodeRunner, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return await control.release(signal);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
