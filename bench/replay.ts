import { existsSync } from "node:fs";
import { join } from "node:path";
import { seededRandom } from "../src/platform/random/index.ts";
import { generateTrace } from "../src/programs/simulate/trace/generate.ts";
import { PUBLISHED_NODES } from "../src/programs/simulate/trace/mix.ts";
import { openTrace } from "../src/programs/simulate/trace/read.ts";
import type { Trace } from "../src/programs/simulate/trace/trace.ts";
import { publishedArms } from "./published/arms.ts";
import { exp04Cluster, publishedWorkload } from "./published/cluster.ts";
import { referenceReplay } from "./published/reference.ts";
import { type Replay, type ReplayOptions, replay } from "./published/replay.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const HOURS = 8;
const STEPS = HOURS * 60;
const SEED = 42;
/** Time of the experiment's own program for the published trace, on one core of another machine. */
const publishedSeconds = { most: 7, shipped: 11, legacy: 15 };

/** The published trace if JOULIE_TRACES_DIR has it, otherwise a generated one of the same mix: about 147,069 jobs. */
const file = join(process.env["JOULIE_TRACES_DIR"] ?? "", "exp04-seed42-8h.csv.gz");
const published = existsSync(file);
const trace = published
  ? await readPublished()
  : generateTrace(publishedWorkload(PUBLISHED_NODES, HOURS), seededRandom(SEED));

async function readPublished(): Promise<Trace> {
  const opened = await openTrace(file);
  if (!opened.ok) throw new Error(opened.error);
  return opened.value;
}

/** CPU time of the thread: wall time would include other programs. */
function timed(work: () => Replay): BenchFigure & { readonly result: Replay } {
  const start = process.threadCpuUsage();
  const result = work();
  const { user, system } = process.threadCpuUsage(start);
  return { unit: "s of CPU", value: (user + system) / 1e6, result };
}

const same = (one: Replay, other: Replay): boolean =>
  one.placedOn.every((node, job) => node === other.placedOn[job]) &&
  one.watts.every((power, step) => power === other.watts[step]);

export const scenario: Scenario = {
  about: `Replay of ${HOURS} h of the ${published ? "published" : "generated"} trace, ${trace.length} jobs on ${PUBLISHED_NODES} nodes, against looking at every node for every job; reading the trace is not counted.`,
  repeats: 1,
  measure: () => {
    const figures: Record<string, BenchFigure> = {};
    for (const arm of publishedArms) {
      const options = (): ReplayOptions => ({
        trace,
        cluster: exp04Cluster(PUBLISHED_NODES),
        arm,
        steps: STEPS,
        random: seededRandom(SEED),
      });
      const fast = timed(() => replay(options()));
      const plain = timed(() => referenceReplay(options()));
      if (!same(fast.result, plain.result)) throw new Error(`${arm} was not placed as the reference places it`);
      figures[arm] = { unit: fast.unit, value: fast.value };
      figures[`${arm}, reference`] = { unit: plain.unit, value: plain.value };
    }
    return figures;
  },
  goals: [
    ...publishedArms.map((arm) => ({
      says: `times the reference's speed, ${arm}`,
      of: (figures: Readonly<Record<string, number>>) =>
        (figures[`${arm}, reference`] ?? Number.NaN) / (figures[arm] ?? Number.NaN),
      atLeast: 4,
    })),
    ...Object.entries(publishedSeconds).map(([arm, seconds]) => ({
      says: `s of CPU, ${arm} (the experiment's own program: ${seconds} s)`,
      of: (figures: Readonly<Record<string, number>>) => figures[arm] ?? Number.NaN,
      atMost: seconds / 10,
    })),
  ],
};
