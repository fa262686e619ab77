import { emptySleepMemory, type SleepMemory } from "../sleep/index.ts";
import type { PowerWindow } from "../twin/index.ts";

/** What a pass remembers for the next one. */
export interface PlanningMemory {
  readonly power: PowerHistory;
  readonly sleep: SleepMemory;
}

/** The recent power readings of every node, by name. */
export type PowerHistory = ReadonlyMap<string, RecentPower>;

export interface RecentPower {
  /** Of the Node. The readings of a node that was recreated start over. */
  readonly uid: string;
  readonly window: PowerWindow;
}

/** The memory before the first pass. */
export const emptyPlanningMemory: PlanningMemory = { power: new Map(), sleep: emptySleepMemory };
