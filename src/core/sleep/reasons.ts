import { formatDuration, type Milliseconds } from "../units/index.ts";
import { sleepLimits } from "./settings.ts";

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Why a node is needed awake, in order of importance. */
export const needs = {
  pending: "pending pods fit on it",
  waiting: "a pod fits on other nodes but is not bound there",
  reserve: "reserve for arriving pods",
  family: `its family keeps ${percent(sleepLimits.awakeInFamily)} of its nodes awake, and at least one`,
  learning: `its family keeps ${percent(sleepLimits.emptyInFamily)} of its nodes empty until arrivals are known`,
  zone: "half of its zone is asleep or not ready",
  swap: "half of its zone is asleep, and a node that draws more sleeps instead",
} as const;
export type Need = keyof typeof needs;

/** Why a node that is not needed does not sleep now. */
export const holds = {
  pods: "pods run on it",
  notOn: "it is not ready, or not on yet",
  cordoned: "it is cordoned",
  cycles: `it slept ${sleepLimits.cyclesPerDay} times today`,
  rate: `${sleepLimits.sleepsPerMinute} nodes went to sleep within the last minute`,
  unreadable: "pods cannot be read",
  notReady: `more than ${percent(sleepLimits.notReady)} of the managed nodes are not ready`,
  wakeRate: `${sleepLimits.wakesPerMinute} nodes were woken within the last minute`,
} as const;

export const notEmptyFor = (after: Milliseconds): string => `it has not been empty for ${formatDuration(after)}`;
export const sleepsBecause = (after: Milliseconds): string => `empty for ${formatDuration(after)} and not needed`;
