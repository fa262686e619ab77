import type * as z from "zod";
import { choice, configOf, flag, flagsOnly, integer, number, path, text } from "../../src/platform/config/index.ts";
import { runExperiment, type SimulateEnvironment, traceFailed } from "../../src/programs/simulate/simulate.ts";
import { openTrace } from "../../src/programs/simulate/trace/read.ts";
import { type Arm, publishedArms } from "./arms.ts";
import { dropExperiment } from "./experiment.ts";

const COMMAND = "npm run replay";

/** Undefined if a name is no arm of the experiment, or is listed twice. */
function armsOf(list: string): readonly Arm[] | undefined {
  const names = list.split(",").map((name) => name.trim());
  const arms = names.flatMap((name) => publishedArms.find((arm) => arm === name) ?? []);
  return new Set(arms).size === names.length ? arms : undefined;
}

/** The flags of `npm run replay`. */
export const replayConfig = configOf(
  flagsOnly("The published experiment", {
    ARM: choice(publishedArms, { default: "shipped", about: "Placement, if nothing is compared." }),
    COMPARE: text({
      allowed: `a comma-separated list of ${publishedArms.join(", ")}`,
      about: "Runs several arms on the same jobs and compares them with the first.",
    }),
    TRACE: path({ about: "A file of jobs, as for joulie simulate; unset = generate jobs." }),
    NODES: integer({ min: 1, max: 100_000, about: "Number of nodes; unset = 2500." }),
    LOAD: number({ above: 0, max: 10, about: "Average share of the cluster; unset = the published rate." }),
    HOURS: number({ above: 0, max: 10_000, about: "Hours; unset = length of the trace, otherwise 8." }),
    SEED: integer({ min: 0, max: 1e15, default: "1", about: "First seed." }),
    SEEDS: integer({ min: 1, max: 1000, default: "1", about: "Number of consecutive seeds." }),
    JSON: flag({ default: "false", about: "Prints one JSON object instead of a table." }),
  }),
  [
    {
      reads: ["COMPARE"],
      holds: ({ COMPARE }) => COMPARE === undefined || (armsOf(COMPARE)?.length ?? 0) > 1,
      problem: "is not a list of two or more arms of the experiment",
      allowed: `a comma-separated list of ${publishedArms.join(", ")}`,
    },
    {
      reads: ["SEEDS", "TRACE"],
      holds: ({ SEEDS, TRACE }) => SEEDS === 1 || TRACE === undefined,
      problem: "is set together with {TRACE}, whose jobs are the same for every seed",
      allowed: "one of the two",
    },
  ],
);

/** Runs `npm run replay`: the published experiment, in which jobs that do not fit are dropped. Returns the exit code. */
export async function replayCommand(
  config: z.output<typeof replayConfig>,
  world: SimulateEnvironment,
): Promise<number> {
  const { ARM, COMPARE, TRACE } = config;
  const opened = TRACE === undefined ? undefined : await openTrace(TRACE);
  if (opened?.ok === false) return traceFailed(COMMAND, opened.error, world);
  const experiment = dropExperiment({
    trace: opened?.value,
    nodes: config.NODES,
    hours: config.HOURS,
    load: config.LOAD,
  });
  const arms = (COMPARE === undefined ? undefined : armsOf(COMPARE)) ?? [ARM];
  return runExperiment(
    {
      command: COMMAND,
      experiment,
      conditions: { cluster: "exp04" },
      trace: TRACE,
      contenders: arms.map((arm) => ({ arm, policy: "none" })),
      compares: COMPARE !== undefined,
      firstSeed: config.SEED,
      seeds: config.SEEDS,
      json: config.JSON,
    },
    world,
  );
}
