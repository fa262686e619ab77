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
import {
  arms,
  CONTENDER,
  type Contender,
  contenderName,
  DEFAULT_POLICY,
  parseContender,
  policies,
} from "./contenders.ts";

export const modes = ["queue", "drop"] as const;
export const clusters = ["exp04", "mixed"] as const;
/** A confidence interval needs a few; 100,000 is probably a typo. */
const MOST_SEEDS = 1000;

const members = {
  ...flagsOnly("What is run", {
    ARM: text({
      allowed: CONTENDER,
      about: `Placement: ${arms.join(", ")}; unset = joulie, in drop mode shipped. ARM:POLICY adds an operator.`,
    }),
    COMPARE: text({
      allowed: `a comma-separated list; the others are compared with the first; each is ${CONTENDER}`,
      about: "Runs several arms on the same jobs and compares them with the first: least,most,joulie.",
    }),
    MODE: choice(modes, {
      default: "queue",
      about:
        "queue: jobs wait until they fit, and all complete; drop: jobs that do not fit are dropped, as in the published experiment.",
    }),
    POLICY: choice(policies, {
      about: `Operator policy of the joulie arm; unset = ${DEFAULT_POLICY}. Other arms have an operator only as ARM:POLICY.`,
    }),
  }),
  ...flagsOnly("Jobs and machines", {
    TRACE: path({
      about:
        "A CSV file of jobs, optionally compressed, with columns submitSec,cores,gpus,performance,cpuUtil,gpuUtil,durationSec; unset = generate jobs.",
    }),
    CLUSTER: choice(clusters, {
      default: "exp04",
      about:
        "exp04: per five nodes, four with 96 cores and one with 128 cores and 8 GPUs; mixed: several CPU families, H100, A100 and L40S.",
    }),
    NODES: integer({ min: 1, max: 100_000, about: "Number of nodes; unset = 2500 in drop mode, 250 in queue mode." }),
    LOAD: number({
      above: 0,
      max: 10,
      about:
        "Average share of GPUs, and of cores on nodes without GPUs, that generated jobs allocate; unset = 0.6, in drop mode the published rate.",
    }),
    HOURS: number({
      above: 0,
      max: 10_000,
      about: "Hours in which jobs arrive; unset = length of the trace, otherwise 24, in drop mode 8.",
    }),
  }),
  ...flagsOnly("Chance and output", {
    SEED: integer({
      min: 0,
      max: 1e15,
      default: "1",
      about: "First seed; the same seed gives the same result.",
    }),
    SEEDS: integer({
      min: 1,
      max: MOST_SEEDS,
      default: "1",
      about: "Number of consecutive seeds; confidence intervals are computed over them.",
    }),
    JSON: flag({ default: "false", about: "Prints one JSON object instead of a table." }),
  }),
};

type Members = z.output<z.ZodObject<typeof members>>;

type Asked = Pick<Members, "ARM" | "COMPARE" | "MODE" | "POLICY">;

/** The contenders to run; undefined if one is invalid or listed twice. */
export const contendersFrom = ({ ARM, COMPARE, MODE, POLICY }: Asked): readonly Contender[] | undefined =>
  contendersOf(COMPARE ?? ARM ?? (MODE === "drop" ? "shipped" : "joulie"), POLICY);

function contendersOf(list: string, policy: Members["POLICY"]): readonly Contender[] | undefined {
  const contenders = list.split(",").map((item) => parseContender(item, policy ?? DEFAULT_POLICY));
  const read = contenders.filter((contender) => contender !== undefined);
  const distinct = new Set(read.map(contenderName)).size === contenders.length;
  return distinct ? read : undefined;
}

const isReadable = (asked: Asked): boolean => contendersFrom(asked) !== undefined;

/** Whether the policy flag changes any contender. */
const takesPolicy = (asked: Asked): boolean => {
  const names = policies.map((POLICY) =>
    contendersFrom({ ...asked, POLICY })
      ?.map(contenderName)
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
  problem: name === "ARM" ? "is not an arm" : "contains an unknown arm, or one twice",
  allowed: name === "ARM" ? CONTENDER : `a comma-separated list of ${CONTENDER}`,
});

const droppable = (name: "ARM" | "COMPARE"): ConfigRule<Members> => ({
  reads: [name, "MODE", "POLICY"],
  holds: ({ MODE, POLICY, [name]: list }) => MODE === "queue" || !needsOperator(list, POLICY),
  problem: "needs nodes with caps and twins, which {MODE} does not simulate",
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
    problem: "names only one arm, so there is nothing to compare",
    allowed: "two arms or more, or --arm",
  },
  {
    reads: ["POLICY", "ARM", "COMPARE", "MODE"],
    holds: (asked) => asked.POLICY === undefined || !isReadable(asked) || takesPolicy(asked),
    problem: "is set, but no arm uses it",
    allowed: "with the arm joulie without a policy, or use ARM:POLICY instead",
  },
  {
    reads: ["ARM", "COMPARE"],
    holds: ({ ARM, COMPARE }) => ARM === undefined || COMPARE === undefined,
    problem: "is set together with {COMPARE}",
    allowed: "one of the two",
  },
  {
    reads: ["LOAD", "TRACE"],
    holds: ({ LOAD, TRACE }) => LOAD === undefined || TRACE === undefined,
    problem: "is set together with {TRACE}, whose jobs are fixed",
    allowed: "one of the two",
  },
  {
    reads: ["SEEDS", "TRACE"],
    holds: ({ SEEDS, TRACE }) => SEEDS === 1 || TRACE === undefined,
    problem: "is set together with {TRACE}, whose jobs are the same for every seed: an interval would be meaningless",
    allowed: "one of the two",
  },
  {
    reads: ["CLUSTER", "MODE"],
    holds: ({ CLUSTER, MODE }) => MODE === "queue" || CLUSTER === "exp04",
    problem: "is not supported by {MODE}",
    allowed: "exp04 with --mode drop",
  },
]);

export type SimulateConfig = z.output<typeof simulateConfig>;
