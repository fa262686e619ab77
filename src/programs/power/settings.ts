import { DEFAULT_STEP_LIMITS, type StepLimits } from "../../core/sleep/index.ts";
import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { PowerConfig } from "./config.ts";

export interface PowerSettings extends StepLimits {
  /** Of one call of a switch. */
  readonly switchTimeout: Milliseconds;
  /** Between two reads of the switch of a node that is neither falling asleep nor waking. */
  readonly refreshInterval: Milliseconds;
  /** How many nodes are worked on at the same time. */
  readonly concurrency: number;
}

/** What no site needs to set. The demo and tests have other times. */
export type PowerTimes = Partial<Omit<PowerSettings, "shutdownTimeout" | "wakeTimeout">>;

export const settingsOf = (config: PowerConfig, times: PowerTimes = {}): PowerSettings => ({
  ...DEFAULT_STEP_LIMITS,
  switchTimeout: milliseconds(20_000),
  refreshInterval: milliseconds(300_000),
  concurrency: 16,
  ...times,
  shutdownTimeout: config.SHUTDOWN_TIMEOUT,
  wakeTimeout: config.WAKE_TIMEOUT,
});
