import type * as z from "zod";
import { DEFAULT_STEP_LIMITS, type StepLimits } from "../../core/sleep/index.ts";
import { formatDuration, type Milliseconds, milliseconds } from "../../core/units/index.ts";
import {
  address,
  configOf,
  duration,
  endpointRanges,
  everyProgram,
  group,
  integer,
  isWithinZone,
  objectName,
} from "../../platform/config/index.ts";

/** The variables of `joulie power`. */
export const powerConfig = configOf(
  {
    ...group("The power program", {
      SLEEP_SETTLE: duration({
        default: formatDuration(DEFAULT_STEP_LIMITS.settle),
        min: milliseconds(1000),
        about: "Pause between the taint and the count of pods, in which schedulers notice the taint.",
      }),
      SHUTDOWN_TIMEOUT: duration({
        default: formatDuration(DEFAULT_STEP_LIMITS.shutdownTimeout),
        min: milliseconds(10_000),
        about: "How long a machine may take to shut down; then its power is cut.",
      }),
      WAKE_TIMEOUT: duration({
        default: formatDuration(DEFAULT_STEP_LIMITS.wakeTimeout),
        about:
          "How long a node may take from power on until it is Ready and its agent reports; a wake that takes longer is retried once, then it has failed.",
      }),
      AWAKE_AT_LEAST: duration({
        default: formatDuration(DEFAULT_STEP_LIMITS.awakeAtLeast),
        about: "How long a node stays awake after a wake, or after a sleep that was given up.",
      }),
      SWITCH_TIMEOUT: duration({ default: "20s", about: "Time limit of one call of a power switch." }),
      SWITCH_CONCURRENCY: integer({ default: "16", min: 1, about: "How many nodes are worked on at the same time." }),
      SWITCH_POLL_INTERVAL: duration({
        default: formatDuration(DEFAULT_STEP_LIMITS.pollInterval),
        about: "How often the switch of a node is read that is on its way to off or on.",
      }),
      SWITCH_REFRESH_INTERVAL: duration({
        default: "5m",
        about: "How often the switches of all other nodes are read.",
      }),
      SWITCH_ALLOWED_ENDPOINTS: endpointRanges({
        default: "none",
        about:
          "Which switches may receive every Secret that a PowerEndpoint names. Others receive only Secrets whose annotation joulie.io/hosts names them.",
      }),
      METRICS_ADDR: address({ default: ":8082", about: "Where metrics and health pages are served." }),
      LEASE_NAME: objectName({
        default: "joulie-power",
        about: "The Lease by which one of several power programs leads.",
      }),
    }),
    ...everyProgram,
  },
  [
    {
      reads: ["SWITCH_ALLOWED_ENDPOINTS"],
      holds: (config) => config.SWITCH_ALLOWED_ENDPOINTS.every(isWithinZone),
      problem: "has {node} without a dot behind it; who names a PowerEndpoint would choose the host",
      allowed: "{node} as in https://{node}.bmc.example",
    },
  ],
);

export type PowerConfig = z.output<typeof powerConfig>;

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
