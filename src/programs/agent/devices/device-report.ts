import type { ControlResult } from "../../../core/api/index.ts";
import { type WriteOutcome, worstFirst } from "../../../core/control/index.ts";

/** What came of a tick for one device, as status tells it. */
export interface DeviceReport {
  /** rapl, hsmp, dvfs, nvml, http, …; none where nothing acts. */
  readonly backend: string;
  readonly result: ControlResult;
  readonly message: string;
  /** Something that people should be told of beyond the status: once, when it begins. */
  readonly alarm?: { readonly reason: "CapNotEffective" | "CapContested"; readonly note: string } | undefined;
  /** Whether load has yet to show that the cap holds; absent without a cap. */
  readonly unproven?: boolean | undefined;
}

/** One outcome of several: the worst result, and every message once. */
export function combinedOutcome(outcomes: readonly WriteOutcome[]): WriteOutcome {
  const [worst = { result: "applied" } as const] = worstFirst(outcomes);
  const messages = joinMessages(
    ...outcomes.filter(({ result }) => result === worst.result).map(({ message }) => message),
  );
  return messages === "" ? { result: worst.result } : { result: worst.result, message: messages };
}

/** What there is to say, each thing once. */
export const joinMessages = (...parts: readonly (string | undefined)[]): string =>
  [...new Set(parts.filter((part) => part !== undefined && part !== ""))].join("; ");
