import type * as z from "zod";
import {
  type ConfigRule,
  choice,
  configOf,
  flag,
  flagsOnly,
  integer,
  number,
  path,
  text,
} from "../../platform/config/index.ts";
import { arms, CONTENDER, type Contender, contenderOf, DEFAULT_POLICY, nameOf, policies } from "./contenders.ts";

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
      about: `The operator's policy beside an arm joulie that names none; unset = ${DEFAULT_POLICY}. Other arms have an operator only as ARM:POLICY.`,
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
        "Generated jobs: the share they keep taken on average, of the GPUs and of the cores of nodes without GPUs; unset = 0.6, in drop mode the published rate.",
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
      about: "How many seeds jobs are generated of, one after the other from the first; intervals are over them.",
    }),
    JSON: flag({ default: "false", about: "Prints one JSON object instead of a table." }),
  }),
};

type Members = z.output<z.ZodObject<typeof members>>;

type Asked = Pick<Members, "ARM" | "COMPARE" | "MODE" | "POLICY">;

/** What is run; undefined where one cannot be read or is there twice. */
export const contendersIn = ({ ARM, COMPARE, MODE, POLICY }: Asked): readonly Contender[] | undefined =>
  contendersOf(COMPARE ?? ARM ?? (MODE === "drop" ? "shipped" : "joulie"), POLICY);

function contendersOf(list: string, policy: Members["POLICY"]): readonly Contender[] | undefined {
  const contenders = list.split(",").map((item) => contenderOf(item, policy ?? DEFAULT_POLICY));
  const read = contenders.filter((contender) => contender !== undefined);
  const distinct = new Set(read.map(nameOf)).size === contenders.length;
  return distinct ? read : undefined;
}

const isReadable = (asked: Asked): boolean => contendersIn(asked) !== undefined;

/** Whether another policy would make another contender of some arm. */
const takesPolicy = (asked: Asked): boolean => {
  const names = policies.map((POLICY) =>
    contendersIn({ ...asked, POLICY })
      ?.map(nameOf)
      .join(","),
  );
  return new Set(names).size > 1;
};

const needsOperator = (list: string | undefined, policy: Members["POLICY"]): boolean =>
  (contendersOf(list ?? "", policy) ?? []).some(
    (contender) => contender.arm === "joulie" || contender.policy !== "none",
  );

const readable = (name: "ARM" | "COMPARE"): ConfigRule<Members> => ({
  reads: [name, "POLICY"],
  holds: ({ POLICY, [name]: list }) => {
    const contenders = list === undefined ? [] : contendersOf(list, POLICY);
    return contenders !== undefined && (name === "COMPARE" || contenders.length <= 1);
  },
  problem: name === "ARM" ? "names no arm" : "names something that is no arm, or one twice",
  allowed: name === "ARM" ? CONTENDER : `a comma-separated list of ${CONTENDER}`,
});

const droppable = (name: "ARM" | "COMPARE"): ConfigRule<Members> => ({
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
    reads: ["COMPARE", "POLICY"],
    holds: ({ COMPARE, POLICY }) => COMPARE === undefined || (contendersOf(COMPARE, POLICY)?.length ?? 2) > 1,
    problem: "names one arm, and so nothing to hold it against",
    allowed: "two arms or more, or --arm",
  },
  {
    reads: ["POLICY", "ARM", "COMPARE", "MODE"],
    holds: (asked) => asked.POLICY === undefined || !isReadable(asked) || takesPolicy(asked),
    problem: "is asked for where no arm takes it",
    allowed: "an arm joulie without a policy of its own beside it, or ARM:POLICY instead",
  },
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
    reads: ["SEEDS", "TRACE"],
    holds: ({ SEEDS, TRACE }) => SEEDS === 1 || TRACE === undefined,
    problem:
      "is asked for beside {TRACE}, whose jobs are the same for every seed: an interval over them would say nothing",
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
