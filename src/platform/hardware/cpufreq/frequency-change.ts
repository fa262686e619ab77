import { type FrequencyLimit, type Kilohertz, kilohertz, type WriteOutcome } from "../../../core/control/index.ts";
import { errorCode } from "../host/host-error.ts";
import { hostFileText, namesIn, numberAt } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";
import type { CpufreqPolicy, PolicyOriginal } from "./cpufreq-policy.ts";

/** One write to a policy's maximum, and the test for its result. */
export interface FrequencyChange {
  readonly policy: CpufreqPolicy;
  readonly max: Kilohertz;
  readonly isReached: (read: Kilohertz) => boolean;
}

/** Lowers the maximum to the limit. Undefined if it is already that low: a lower limit of another program is never raised. */
export function throttleChange(policy: CpufreqPolicy, { max }: FrequencyLimit): FrequencyChange | undefined {
  const now = readableMax(policy);
  return now === undefined || now <= max ? undefined : { policy, max, isReached: (read) => read <= max };
}

/** Restores the original maximum, or the hardware maximum if nothing limited the policy originally. */
export function restoreChange(policy: CpufreqPolicy, { max, free }: PolicyOriginal): FrequencyChange | undefined {
  const target = kilohertz(free ? Math.max(max, policy.hardwareMax ?? max) : max);
  // With turbo off, the kernel reports less than the written hardware maximum.
  const isReached = (read: Kilohertz): boolean => read === target || (free === true && read >= max);
  const now = readableMax(policy);
  return now === undefined || isReached(now) ? undefined : { policy, max: target, isReached };
}

/** The current maximum; undefined if it cannot be read, for example while all CPUs of the policy are offline. */
export function readableMax(policy: CpufreqPolicy): Kilohertz | undefined {
  try {
    return policy.max;
  } catch {
    return undefined;
  }
}

/** All CPUs of the policy are offline: there is nothing to throttle. */
export const isOfflineError = (error: unknown): boolean => errorCode(error) === "EBUSY";

export const nameOf = ({ id }: Pick<CpufreqPolicy, "id">): string => `cpufreq policy${id}`;

/** Combines the failures of many policies into one outcome: the worst result and the number of others. */
export function combineFailures(failures: readonly WriteOutcome[]): WriteOutcome {
  const worst = failures.find(({ result }) => result === "error") ?? failures[0];
  if (worst === undefined) return { result: "applied" };
  const others = failures.length === 1 ? "" : `; and ${failures.length - 1} more`;
  return { result: worst.result, message: `${worst.message ?? ""}${others}` };
}

const THERMAL = "class/thermal";

/**
 * Whether the kernel limits CPU frequency because of temperature. The limit shows in scaling_max_freq, so a value read now would be
 * recorded as the original and restored permanently.
 */
export const isThermallyLimited = (files: HostFiles): boolean =>
  namesIn(files, THERMAL)
    .filter((name) => name.startsWith("cooling_device"))
    .some((name) => {
      const state = numberAt(files, `${THERMAL}/${name}/cur_state`);
      return (
        state !== undefined &&
        state > 0 &&
        /^(Processor|cpufreq)/.test(hostFileText(files, `${THERMAL}/${name}/type`) ?? "")
      );
    });
