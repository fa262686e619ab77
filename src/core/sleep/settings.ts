import { formatDuration, type Milliseconds, milliseconds } from "../units/index.ts";

/** `recommend` makes the same decisions as `on` and reports them, but switches nothing. */
export const sleepModes = ["off", "recommend", "on"] as const;
export type SleepMode = (typeof sleepModes)[number];

export interface SleepSettings {
  readonly mode: SleepMode;
  /** The schedulers whose pending pods need nodes; undefined = all. */
  readonly schedulers?: readonly string[] | undefined;
  /** How long a node must have been empty before it sleeps. */
  readonly after: Milliseconds;
  /** The quantile of arrivals during one wake time that awake nodes have room for, 0 to 1. */
  readonly reserveQuantile: number;
  /** The share of each zone that may be asleep or not ready, 0 to 1. */
  readonly zoneShare: number;
}

/** Above 55 % nodes that are not ready, Kubernetes treats a zone as unhealthy by default. */
export const DEFAULT_ZONE_SHARE = 0.5;

export const sleepLimits = {
  cyclesPerDay: 8,
  sleepsPerMinute: 60,
  wakesPerMinute: 300,
  /** A wake that takes more than this many times the usual time is late: pods that rely on it wake another node. */
  lateWake: 2,
  /** If as much of a zone is asleep as may be, a node wakes so that one which draws this many times as much can sleep instead. */
  swapFactor: 2,
  /** Nothing sleeps while more than this share of the managed nodes is not ready for other reasons. */
  notReady: 0.45,
  /** The share of each hardware family that stays awake, and never fewer than one node. */
  awakeInFamily: 0.04,
  /** The share of each family that stays awake and empty until arrivals have been observed for `learning`. */
  emptyInFamily: 0.1,
  learning: milliseconds(2 * 3_600_000),
} as const;

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Why a node is needed awake, in order of importance. */
export const awakeNeeds = {
  pending: "pending pods fit on it",
  waiting: "a pod fits on other nodes but is not bound there",
  reserve: "reserve for arriving pods",
  family: `its family keeps ${percent(sleepLimits.awakeInFamily)} of its nodes awake, and at least one`,
  learning: `its family keeps ${percent(sleepLimits.emptyInFamily)} of its nodes empty until arrivals are known`,
  zone: "no more of its zone may be asleep or not ready",
  swap: "no more of its zone may be asleep, and a node that draws more sleeps instead",
} as const;
export type Need = keyof typeof awakeNeeds;

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
