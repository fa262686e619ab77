import { type Instant, instant, type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { PrometheusPoint, QueryRange } from "../../../platform/telemetry/index.ts";
import type { HistoryAnswer } from "../wire.ts";
import type { ClusterHistory } from "./cluster-history.ts";

/** The series of the operator that stand for the ring's. Two operators may be scraped while the leader changes. */
const pastQueries = {
  power: "sum(max by (node) (joulie_operator_node_power_watts))",
  cap: "sum(max by (node) (joulie_operator_node_capped_power_watts))",
  capacity: "sum(max by (node) (joulie_operator_node_uncapped_power_watts))",
} as const;

export interface PastReader {
  queryRange(expression: string, range: QueryRange): Promise<readonly PrometheusPoint[]>;
}

/** Enough for the width of a screen. */
const POINTS = 720;
const FINEST = milliseconds(60_000);

export type Past = (now: Instant, length: Milliseconds) => Promise<HistoryAnswer>;

function rangeOf(now: Instant, length: Milliseconds): QueryRange {
  const step = milliseconds(Math.max(FINEST, Math.ceil(length / POINTS / FINEST) * FINEST));
  const to = instant(Math.floor(now / step) * step);
  return { from: instant(to - Math.floor(length / step) * step), to, step };
}

const CACHED = 16;
const RETRY_AFTER = milliseconds(30_000);

/** Every open page asks again and again, and the answer changes once per step. Requests at the same time share one query. */
export function cachedPast(past: Past): Past {
  const answers = new Map<number, { readonly to: Instant; until: Instant; readonly answer: Promise<HistoryAnswer> }>();
  return async (now, length) => {
    const { to } = rangeOf(now, length);
    const known = answers.get(length);
    if (known?.to === to && now < known.until) return known.answer;
    const entry = { to, until: instant(Infinity), answer: past(now, length) };
    answers.delete(length);
    answers.set(length, entry);
    const [oldest] = answers.keys();
    if (answers.size > CACHED && oldest !== undefined) answers.delete(oldest);
    const { note } = await entry.answer;
    // Prometheus did not answer: it is asked again soon.
    if (note !== undefined) entry.until = instant(now + RETRY_AFTER);
    return entry.answer;
  };
}

/** Reads what is older than the ring from Prometheus. If that fails, the ring answers, with a note. */
export async function pastOf(
  reader: PastReader,
  ring: ClusterHistory,
  log: Logger,
  now: Instant,
  length: Milliseconds,
): Promise<HistoryAnswer> {
  const range = rangeOf(now, length);
  const { step } = range;
  try {
    const [power, cap, capacity] = await Promise.all(
      Object.values(pastQueries).map(async (query) => reader.queryRange(query, range)),
    );
    const at = Array.from({ length: (range.to - range.from) / step + 1 }, (_, index) => range.from + index * step);
    const column = (points: readonly PrometheusPoint[] = []): (number | null)[] => {
      const values = new Map(points.map((point) => [point.at as number, point.value]));
      return at.map((time) => {
        const value = values.get(time);
        return Number.isFinite(value) ? (value as number) : null;
      });
    };
    return {
      source: "prometheus",
      step,
      at,
      power: column(power),
      cap: column(cap),
      capacity: column(capacity),
      // Prometheus has the model's energy, not its power: `joulie savings --prometheus` shows that.
      counterfactual: at.map(() => null),
    };
  } catch (error) {
    log.warn({ err: error }, "cannot read the history from Prometheus; showing the last 24 hours");
    return { ...ring.read(now, length), note: "Prometheus did not answer; these are the last 24 hours." };
  }
}
