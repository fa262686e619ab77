import type { ControlResult } from "../../../core/api/index.ts";
import { type WriteOutcome, worstFirst } from "../../../core/control/index.ts";

export const alarmReasons = ["CapNotEffective", "CapContested"] as const;

export interface DeviceReport {
  /** rapl, hsmp, dvfs, nvml, http, …; none if no backend acts. */
  readonly backend: string;
  readonly result: ControlResult;
  readonly message: string;
  /** A problem that is also published as an Event, once, when it begins. */
  readonly alarm?: { readonly reason: (typeof alarmReasons)[number]; readonly note: string };
  readonly unproven?: boolean;
}

/** Combines outcomes: the worst result, with the messages of that result. */
export function combinedOutcome(outcomes: readonly WriteOutcome[]): WriteOutcome {
  const [worst = { result: "applied" } as const] = worstFirst(outcomes);
  const messages = joinMessages(
    ...outcomes.filter(({ result }) => result === worst.result).map(({ message }) => message),
  );
  const isUnsettled = outcomes.some((outcome) => outcome.isUnsettled === true) && { isUnsettled: true as const };
  return { result: worst.result, ...(messages !== "" && { message: messages }), ...isUnsettled };
}

export const joinMessages = (...parts: readonly (string | undefined)[]): string =>
  [...new Set(parts.filter((part) => part !== undefined && part !== ""))].join("; ");
