import { type Instant, instant, type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { readProgramPages } from "../cluster/program-pages.ts";
import type { ConsoleContext } from "../context.ts";

/** The power and caps of a node over the last day, as the dashboard has seen them; or why they are unknown. */
export interface NodeHistory {
  /** The oldest first; gaps are undefined. */
  readonly power: readonly (number | undefined)[];
  readonly length: Milliseconds;
  readonly capChanges: readonly PastCapChange[];
  readonly why: string | undefined;
}

export interface PastCapChange {
  readonly at: Instant;
  readonly from: number;
  readonly to: number;
  readonly drawn: number | undefined;
}

interface Series {
  readonly at: readonly number[];
  readonly power: readonly (number | null)[];
  readonly cap: readonly (number | null)[];
}

export async function nodeHistoryOf(context: ConsoleContext, namespace: string, node: string): Promise<NodeHistory> {
  const page = `api/node/${encodeURIComponent(node)}`;
  const { answers, why } = await readProgramPages(context, namespace, "dashboard", page);
  const series = (answers[0]?.value as { history?: unknown } | undefined)?.history;
  if (!isSeries(series))
    return { power: [], length: milliseconds(0), capChanges: [], why: why ?? "the dashboard has no history of it" };
  return historyOf(series);
}

const isSeries = (value: unknown): value is Series => {
  const { at, power, cap } = (value ?? {}) as Partial<Series>;
  return Array.isArray(at) && Array.isArray(power) && Array.isArray(cap) && at.length > 0;
};

/** Means of buckets: smaller differences are noise. */
const WORTH_SHOWING = 1;

export function historyOf({ at, power, cap }: Series): NodeHistory {
  const capChanges: PastCapChange[] = [];
  let last: number | undefined;
  for (const [index, time] of at.entries()) {
    const now = cap[index] ?? undefined;
    if (now === undefined) continue;
    if (last !== undefined && Math.abs(now - last) > WORTH_SHOWING)
      capChanges.push({ at: instant(time), from: last, to: now, drawn: power[index] ?? undefined });
    last = now;
  }
  const length = milliseconds((at.at(-1) ?? 0) - (at[0] ?? 0));
  return { power: at.map((_, index) => power[index] ?? undefined), length, capChanges, why: undefined };
}
