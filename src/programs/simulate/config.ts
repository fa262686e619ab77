import type * as z from "zod";
import { POWER_STATES } from "../../core/power/index.ts";
import { formatDuration, milliseconds, percent, type Seconds } from "../../core/units/index.ts";
import {
  type ConfigRule,
  choice,
  configOf,
  duration,
  flag,
  flagsOnly,
  integer,
  number,
  path,
  quantity,
  text,
} from "../../platform/config/index.ts";
import { arms, CONTENDER, type Contender, contenderName, parseContender, presetArms } from "./contenders.ts";
import { ECO_MAX_SLOWDOWN, sleepSettings } from "./queue/settings.ts";

export const clusters = ["exp04", "mixed"] as const;
/** A confidence interval needs a few; 100,000 is probably a typo. */
const MAX_SEEDS = 1000;

const bootAbout = (which: string, time: Seconds): string =>
  `Time from power on until a node ${which} is Ready, for arms with +sleep; unset = ${formatDuration(milliseconds(time * 1000))}.`;

const members = {
  ...flagsOnly("What is run", {
    ARM: text({
      allowed: CONTENDER,
      about: `Placement: ${arms.join(", ")}, or a preset: ${presetArms.join(", ")}; unset = joulie. ARM:POLICY adds an operator, ARM+sleep switches empty nodes off.`,
    }),
    COMPARE: text({
      allowed: `a comma-separated list; the others are compared with the first; each is ${CONTENDER}`,
      about: "Runs several arms on the same jobs and compares them with the first: least,most,joulie.",
    }),
  }),
  ...flagsOnly("Jobs and machines", {
    TRACE: path({
      about:
        "A file of jobs, optionally compressed: CSV with columns submitSec,cores,gpus,performance,cpuUtil,gpuUtil,durationSec; unset = generate jobs.",
    }),
    CLUSTER: choice(clusters, {
      default: "exp04",
      about:
        "exp04: per five nodes, four with 96 cores and one with 128 cores and 8 GPUs; mixed: several CPU families, H100, A100 and L40S.",
    }),
    NODES: integer({ min: 1, max: 100_000, about: "Number of nodes; unset = 250." }),
    LOAD: number({
      above: 0,
      max: 10,
      about: "Average share of GPUs, and of cores on nodes without GPUs, that generated jobs allocate; unset = 0.6.",
    }),
    HOURS: number({
      above: 0,
      max: 10_000,
      about: "Hours in which jobs arrive; unset = length of the trace, otherwise 24.",
    }),
  }),
  ...flagsOnly("Power and work", {
    WALL_POWER: flag({
      default: "false",
      about: "Counts whole servers: also fans, memory, network cards, disks and losses of power supplies.",
    }),
    BIND_BOARDS: flag({ default: "false", about: "Binds each GPU job to one kind of board." }),
    PERFORMANCE_SHARE: number({
      min: 0,
      max: 1,
      about: "Share of performance jobs, drawn at random; unset = as the trace or the published mix has it.",
    }),
    ECO_MAX_SLOWDOWN_PCT: quantity(percent, {
      above: 0,
      max: 100,
      about: `Bound of the eco caps of fit_aware_v1, see the operator; unset = ${ECO_MAX_SLOWDOWN}.`,
    }),
    ECO_CLOCK_SHARE: number({
      above: 0,
      max: 1,
      about:
        "Share of the run time that follows the clock, for the eco caps of fit_aware_v1, see the operator; unset = 1.",
    }),
  }),
  ...flagsOnly("Sleep", {
    BOOT_CPU: duration({ about: bootAbout("without GPUs", POWER_STATES.bootWithoutGpus) }),
    BOOT_GPU: duration({ about: bootAbout("with GPUs", POWER_STATES.bootWithGpus) }),
    BOOT_FAILURES: number({
      min: 0,
      max: 1,
      about: `Share of boots after which a node does not come back, for arms with +sleep; unset = ${POWER_STATES.failedBoots}.`,
    }),
    SLEEP_RESERVE_QUANTILE: number({
      min: 0,
      max: 1,
      about: `As the operator's variable, for arms with +sleep; unset = ${sleepSettings().reserveQuantile}.`,
    }),
    SLEEP_ZONE_SHARE: number({
      above: 0,
      max: 1,
      about: `As the operator's variable, for arms with +sleep; unset = ${sleepSettings().zoneShare}.`,
    }),
    SLEEP_AFTER: duration({
      about: `As the operator's variable, for arms with +sleep; unset = ${formatDuration(sleepSettings().after)}.`,
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
      max: MAX_SEEDS,
      default: "1",
      about: "Number of consecutive seeds; confidence intervals are computed over them.",
    }),
    JSON: flag({ default: "false", about: "Prints one JSON object instead of a table." }),
  }),
};

type Members = z.output<z.ZodObject<typeof members>>;

/** The contenders to run; undefined if one is invalid or listed twice. */
export const contendersFrom = ({ ARM, COMPARE }: Pick<Members, "ARM" | "COMPARE">): readonly Contender[] | undefined =>
  contendersOf(COMPARE ?? ARM ?? "joulie");

function contendersOf(list: string): readonly Contender[] | undefined {
  const contenders = list.split(",").map(parseContender);
  const read = contenders.filter((contender) => contender !== undefined);
  const distinct = new Set(read.map(contenderName)).size === contenders.length;
  return distinct ? read : undefined;
}

const readable = (name: "ARM" | "COMPARE"): ConfigRule<Members> => ({
  reads: [name],
  holds: ({ [name]: list }) => {
    const contenders = list === undefined ? [] : contendersOf(list);
    return contenders !== undefined && (name === "COMPARE" || contenders.length <= 1);
  },
  problem: name === "ARM" ? "is not an arm" : "contains an unknown arm, or one twice",
  allowed: name === "ARM" ? CONTENDER : `a comma-separated list of ${CONTENDER}`,
});

export const simulateConfig = configOf(members, [
  readable("ARM"),
  readable("COMPARE"),
  {
    reads: ["COMPARE"],
    holds: ({ COMPARE }) => COMPARE === undefined || (contendersOf(COMPARE)?.length ?? 2) > 1,
    problem: "names only one arm, so there is nothing to compare",
    allowed: "two arms or more, or --arm",
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
]);

export type SimulateConfig = z.output<typeof simulateConfig>;
