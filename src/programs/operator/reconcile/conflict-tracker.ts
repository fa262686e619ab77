import { elapsed, type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import { backoffDelay } from "../../../platform/backoff/index.ts";

type Labels = Readonly<Record<string, string>>;

interface LabelWrite {
  readonly labels: Labels;
  readonly at: MonotonicInstant;
  readonly repeated: number;
}

const BACKOFF = { first: milliseconds(1000), longest: milliseconds(300_000) };
/** Labels that stayed unchanged for this long have no conflicting writer. */
const RESET_AFTER = 2 * BACKOFF.longest;

/** Tracks labels that another writer keeps resetting, and backs off: two writers that always react would never stop. */
export class ConflictTracker {
  readonly #writes = new Map<string, LabelWrite>();

  /** How long to wait before writing these labels again. The first two corrections are immediate. */
  backoffOf(node: string, labels: Labels, now: MonotonicInstant): Milliseconds {
    const last = this.#writes.get(node);
    if (last === undefined || !isRepetition(last, labels, now) || last.repeated === 0) return milliseconds(0);
    const backoff = backoffDelay(last.repeated + 1, BACKOFF);
    return milliseconds(Math.max(0, backoff - elapsed(last.at, now)));
  }

  recordWrite(node: string, labels: Labels, now: MonotonicInstant): number {
    const last = this.#writes.get(node);
    const repeated = last !== undefined && isRepetition(last, labels, now) ? last.repeated + 1 : 0;
    this.#writes.set(node, { labels: { ...last?.labels, ...labels }, at: now, repeated });
    return repeated;
  }

  keepOnly(nodes: { has(name: string): boolean }): void {
    for (const name of this.#writes.keys()) if (!nodes.has(name)) this.#writes.delete(name);
  }
}

const isRepetition = ({ labels: last, at }: LabelWrite, labels: Labels, now: MonotonicInstant): boolean =>
  elapsed(at, now) < RESET_AFTER && Object.entries(labels).some(([key, value]) => last[key] === value);
