import type { Joules, Seconds, Watts } from "../../units/index.ts";
import { publishedScore } from "../formula.ts";

/**
 * The terms of a pod's marginal joules on a node. The oracle and the columnar kernel both call these functions, so their
 * floating-point steps are the same.
 */

/** 1 if the pods are expected to use all CPUs. */
export const cpuLoad = (usedCpus: number, cpus: number, utilisation: number): number =>
  Math.min(1, (usedCpus * utilisation) / cpus);

export const addedWatts = (cpuBefore: number, cpuAfter: number, boards: number, wattsPerBoard: number): Watts =>
  (cpuAfter - cpuBefore + boards * wattsPerBoard) as Watts;

export const runningJoules = (added: Watts, restSlope: number, time: Seconds): Joules =>
  (added * (1 + restSlope) * time) as Joules;

/**
 * How long the pods of a node are expected to run on. A pod without a declared duration, or past it, may end at any time: it
 * is expected to run for another default duration, however long it has run. NaN ends mean that no pod declares a duration.
 */
export function remainingSeconds(
  openEnded: boolean,
  firstEnd: number,
  lastEnd: number,
  now: number,
  standard: Seconds,
): number {
  const declared = lastEnd > now ? (lastEnd - now) / 1000 : 0;
  return openEnded || firstEnd <= now ? Math.max(standard, declared) : declared;
}

/** Idle energy of the node for the time that only this pod keeps it awake. */
export const awakeJoules = (saved: Watts, time: Seconds, remaining: number): Joules =>
  (saved * Math.max(0, time - remaining)) as Joules;

/** Idle energy of the share of the boards that become unusable; negative if the pod fills a gap. */
export const fragmentationJoules = (
  unusableBefore: number,
  unusableAfter: number,
  boards: number,
  idle: Watts,
  time: Seconds,
): Joules => (((unusableAfter - unusableBefore) / boards) * idle * time) as Joules;

/** Idle energy of the node if a pod without GPUs leaves too few CPUs for the free boards. */
export const starvationJoules = (
  freeCpus: number,
  freeBoards: number,
  cpusPerFreeBoard: number,
  idle: Watts,
  time: Seconds,
): Joules => (freeBoards > 0 && freeCpus < cpusPerFreeBoard * freeBoards ? idle * time : 0) as Joules;

/** Idle energy of the share of a GPU node's CPUs that a pod without GPUs takes. */
export const guestJoules = (cpus: number, all: number, idle: Watts, time: Seconds): Joules =>
  ((cpus / all) * idle * time) as Joules;

/** Idle energy of the share of the CPUs or of the boards that stays free. */
export const spareJoules = (free: number, all: number, idle: Watts, time: Seconds): Joules =>
  ((free / all) * idle * time) as Joules;

/** Larger values are errors, and would make the joules infinite. */
const MAX_PUE = 10;
export const pueFactor = (pue: number): number => Math.min(pue, MAX_PUE);

/** The joules of a node whose cap the pod would exceed. */
export const OVER_CAP = Infinity;

/**
 * 100·(most − J)/(most − least) over the candidates, scaled to `scoreMax`. Only the cheapest nodes get the full score, so that
 * rounding cannot make a dearer one equal to them. Only nodes whose cap would be exceeded get 0.
 */
export function energyScore(joules: number, least: number, most: number, scoreMax: number): number {
  if (joules === OVER_CAP) return 0;
  if (joules === least) return scoreMax;
  const share = publishedScore((100 * (most - joules)) / (most - least), scoreMax);
  return Math.max(1, Math.min(scoreMax - 1, share));
}
