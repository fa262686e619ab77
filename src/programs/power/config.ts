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
  isWithinZone,
  objectName,
} from "../../platform/config/index.ts";

/** The variables of `joulie power`. */
export const powerConfig = configOf(
  {
    ...group("The power program", {
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
  /** Time limit of one call of a switch. */
  readonly switchTimeout: Milliseconds;
  /** Time between two reads of the switch of a node that is neither falling asleep nor waking. */
  readonly refreshInterval: Milliseconds;
  /** Number of nodes that are worked on at the same time. */
  readonly concurrency: number;
}

/** What no site needs to set. The demo and tests have other times. */
export type PowerTimes = Partial<Omit<PowerSettings, "shutdownTimeout" | "wakeTimeout">>;

export const powerSettingsOf = (config: PowerConfig, times: PowerTimes = {}): PowerSettings => ({
  ...DEFAULT_STEP_LIMITS,
  switchTimeout: milliseconds(20_000),
  refreshInterval: milliseconds(300_000),
  concurrency: 16,
  ...times,
  shutdownTimeout: config.SHUTDOWN_TIMEOUT,
  wakeTimeout: config.WAKE_TIMEOUT,
});
