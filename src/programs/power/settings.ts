import type { StepLimits } from "../../core/sleep/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import type { PowerConfig } from "./config.ts";

export interface PowerSettings extends StepLimits {
  readonly switchTimeout: Milliseconds;
  readonly refreshInterval: Milliseconds;
  /** How many switches are read at the same time without a sleep or wake. */
  readonly refreshConcurrency: number;
}

export const settingsOf = (config: PowerConfig): PowerSettings => ({
  settle: config.SLEEP_SETTLE,
  shutdownTimeout: config.SHUTDOWN_TIMEOUT,
  wakeTimeout: config.WAKE_TIMEOUT,
  switchTimeout: config.SWITCH_TIMEOUT,
  pollInterval: config.SWITCH_POLL_INTERVAL,
  refreshInterval: config.SWITCH_REFRESH_INTERVAL,
  refreshConcurrency: Math.ceil(config.SWITCH_CONCURRENCY / 2),
  awakeAtLeast: config.AWAKE_AT_LEAST,
});
