import type { Milliseconds } from "../../core/units/index.ts";
import type { PowerConfig } from "./config.ts";

export interface PowerSettings {
  /** Between the observed taint and the count of pods. */
  readonly settle: Milliseconds;
  readonly shutdownTimeout: Milliseconds;
  readonly wakeTimeout: Milliseconds;
  readonly switchTimeout: Milliseconds;
  readonly pollInterval: Milliseconds;
  readonly refreshInterval: Milliseconds;
  /** How many switches are read at the same time without a sleep or wake. */
  readonly refreshConcurrency: number;
  /** After a wake or a sleep that was given up, a node stays awake at least this long, so that it does not flap. */
  readonly awakeAtLeast: Milliseconds;
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
