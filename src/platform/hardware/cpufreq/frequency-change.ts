import { type FrequencyLimit, type Kilohertz, kilohertz, type WriteOutcome } from "../../../core/control/index.ts";
import { errorCode } from "../host/host-error.ts";
import type { PolicyOriginal } from "./cpufreq-original.ts";
import type { CpufreqPolicy } from "./cpufreq-policy.ts";

/** One write to a policy's maximum, and what may be read once it is done. */
export interface FrequencyChange {
  readonly policy: CpufreqPolicy;
  readonly max: Kilohertz;
  readonly isReached: (read: Kilohertz) => boolean;
}

/** Down to its limit, unless it is there or lower already: what somebody else holds lower is never raised. */
export function throttleChange(policy: CpufreqPolicy, { max }: FrequencyLimit): FrequencyChange | undefined {
  const now = readableMax(policy);
  return now === undefined || now <= max ? undefined : { policy, max, isReached: (read) => read <= max };
}

/** Back to what it was: where nothing held it then, to what the hardware can do now. */
export function restoreChange(policy: CpufreqPolicy, { max, free }: PolicyOriginal): FrequencyChange | undefined {
  const target = kilohertz(free ? Math.max(max, policy.hardwareMax ?? max) : max);
  // With turbo off the hardware's maximum reads as less than what was written.
  const isReached = (read: Kilohertz): boolean => read === target || (free === true && read >= max);
  const now = readableMax(policy);
  return now === undefined || isReached(now) ? undefined : { policy, max: target, isReached };
}

/** Undefined where it cannot be read, as while all its CPUs are offline. */
export function readableMax(policy: CpufreqPolicy): Kilohertz | undefined {
  try {
    return policy.max;
  } catch {
    return undefined;
  }
}

/** Its last CPU has gone offline: nothing runs there that could be too fast. */
export const isOfflineError = (error: unknown): boolean => errorCode(error) === "EBUSY";

export const nameOf = ({ id }: Pick<CpufreqPolicy, "id">): string => `cpufreq policy${id}`;

/** The worst of all, in a few words however many policies there are. */
export function combineFailures(failures: readonly WriteOutcome[]): WriteOutcome {
  const worst = failures.find(({ result }) => result === "error") ?? failures[0];
  if (worst === undefined) return { result: "applied" };
  const others = failures.length === 1 ? "" : `; and ${failures.length - 1} more`;
  return { result: worst.result, message: `${worst.message ?? ""}${others}` };
}
