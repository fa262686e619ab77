import type * as z from "zod";
import {
  choice,
  configOf,
  everyProgram,
  flag,
  flagsOnly,
  integer,
  number,
  path,
  type Rule,
  text,
} from "../../platform/config/index.ts";
import { arms, CONTENDER, type Contender, contenderOf, nameOf, policies } from "./contenders.ts";

export const modes = ["queue", "drop"] as const;
export const clusters = ["exp04", "mixed"] as const;
/** An interval needs a few; a hundred thousand runs are a slip. */
const MOST_SEEDS = 1000;

const members = {
  ...flagsOnly("What is run", {
    ARM: text({
      allowed: CONTENDER,
      about: `How nodes are chosen: ${arms.join(", ")}; unset = joulie, in drop mode shipped. ARM:POLICY adds an operator.`,
    }),
    COMPARE: text({
      allowed: `a comma-separated list, the first of which the others are held against; each is ${CONTENDER}`,
      about: "Runs several arms on the same jobs and holds them against the first: least,most,joulie.",
    }),
    MODE: choice(modes, {
      default: "queue",
      about:
        "queue: jobs wait for room and all are finished; drop: a job that finds no room is lost, as in the published experiment.",
    }),
    POLICY: choice(policies, {
      default: "queue_aware_v1",
      about: "The operator's policy beside the arm joulie; others have no operator unless asked for.",
    }),
  }),
  ...flagsOnly("Jobs and machines", {
    TRACE: path({
      about:
        "A CSV file of jobs, also compressed, with submitSec,cores,gpus,performance,cpuUtil,gpuUtil,durationSec; unset = jobs are generated.",
    }),
    CLUSTER: choice(clusters, {
      default: "exp04",
      about:
        "exp04: of five nodes four have 96 cores and one has 128 cores and 8 GPUs; mixed: several CPU families, H100, A100 and L40S.",
    }),
    NODES: integer({ min: 1, max: 100_000, about: "How many nodes; unset = 2500 in drop mode, 250 in queue mode." }),
    LOAD: number({
      above: 0,
      max: 10,
      about:
        "Generated jobs: the share of all cores and GPUs they keep taken on average; unset = 0.6, in drop mode the published rate.",
    }),
    HOURS: number({
      above: 0,
      max: 10_000,
      about: "How long jobs keep coming; unset = as long as the trace, else 24, in drop mode 8.",
    }),
  }),
  ...flagsOnly("Chance and output", {
    SEED: integer({
      min: 0,
      max: 1e15,
      default: "1",
      about: "The first seed: the same one gives the same result.",
    }),
    SEEDS: integer({
      min: 1,
      max: MOST_SEEDS,
      default: "1",
      about: "How many seeds are run, one after the other from the first; intervals are over them.",
    }),
    JSON: flag({ default: "false", about: "Prints one JSON object instead of a table." }),
  }),
  ...everyProgram,
};

type Members = z.output<z.ZodObject<typeof members>>;

/** The contenders of a list, in its order; undefined where one cannot be read or is there twice. */
export function contendersOf(list: string, policyOfJoulie: Members["POLICY"]): readonly Contender[] | undefined {
  const contenders = list.split(",").map((item) => contenderOf(item, policyOfJoulie));
  const read = contenders.filter((contender) => contender !== undefined);
  const distinct = new Set(read.map(nameOf)).size === contenders.length;
  return distinct ? read : undefined;
}

const needsOperator = (list: string | undefined, policy: Members["POLICY"]): boolean =>
  (contendersOf(list ?? "", policy) ?? []).some(
    (contender) => contender.arm === "joulie" || contender.policy !== "none",
  );

const readable = (name: "ARM" | "COMPARE"): Rule<Members> => ({
  reads: [name, "POLICY"],
  holds: ({ POLICY, [name]: list }) => {
    const contenders = list === undefined ? [] : contendersOf(list, POLICY);
    return contenders !== undefined && (name === "COMPARE" || contenders.length <= 1);
  },
  problem: name === "ARM" ? "names no arm" : "names something that is no arm, or one twice",
  allowed: name === "ARM" ? CONTENDER : `a comma-separated list of ${CONTENDER}`,
});

const droppable = (name: "ARM" | "COMPARE"): Rule<Members> => ({
  reads: [name, "MODE", "POLICY"],
  holds: ({ MODE, POLICY, [name]: list }) => MODE === "queue" || !needsOperator(list, POLICY),
  problem: "needs nodes with caps and twins, which {MODE} has not",
  allowed: "joulie and policies with --mode queue",
});

export const simulateConfig = configOf(members, [
  readable("ARM"),
  readable("COMPARE"),
  droppable("ARM"),
  droppable("COMPARE"),
  {
    reads: ["ARM", "COMPARE"],
    holds: ({ ARM, COMPARE }) => ARM === undefined || COMPARE === undefined,
    problem: "is asked for beside {COMPARE}",
    allowed: "one of the two",
  },
  {
    reads: ["LOAD", "TRACE"],
    holds: ({ LOAD, TRACE }) => LOAD === undefined || TRACE === undefined,
    problem: "is asked for beside {TRACE}, whose jobs are what they are",
    allowed: "one of the two",
  },
  {
    reads: ["CLUSTER", "MODE"],
    holds: ({ CLUSTER, MODE }) => MODE === "queue" || CLUSTER === "exp04",
    problem: "is not known to {MODE}",
    allowed: "exp04 with --mode drop",
  },
]);

export type SimulateConfig = z.output<typeof simulateConfig>;
