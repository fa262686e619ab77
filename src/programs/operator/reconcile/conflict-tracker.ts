import { elapsed, type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";

type Labels = Readonly<Record<string, string>>;

interface Written {
  readonly labels: Labels;
  readonly at: MonotonicInstant;
  /** How often in a row the same was written again. */
  readonly repeated: number;
}

const FIRST_REST = 1000;
const LONGEST_REST = 300_000;
/** Labels that stood for so long were not set by a program that fights for them. */
const PEACE = 2 * LONGEST_REST;

/** Remembers labels that somebody else sets back each time: two who write whenever the other does would never come to rest. */
export class ConflictTracker {
  readonly #written = new Map<string, Written>();

  /** How long these labels are left as they are, for now. A person's first and second hand on them is undone at once. */
  backoffOf(node: string, labels: Labels, now: MonotonicInstant): Milliseconds {
    const before = this.#written.get(node);
    if (before === undefined || !comesBack(before, labels, now) || before.repeated === 0) return milliseconds(0);
    const rest = Math.min(FIRST_REST * 2 ** before.repeated, LONGEST_REST);
    return milliseconds(Math.max(0, rest - elapsed(before.at, now)));
  }

  /** Gives how often in a row the same was written again. */
  recordWrite(node: string, labels: Labels, now: MonotonicInstant): number {
    const before = this.#written.get(node);
    const repeated = before !== undefined && comesBack(before, labels, now) ? before.repeated + 1 : 0;
    this.#written.set(node, { labels: { ...before?.labels, ...labels }, at: now, repeated });
    return repeated;
  }

  keepOnly(nodes: { has(name: string): boolean }): void {
    for (const name of this.#written.keys()) if (!nodes.has(name)) this.#written.delete(name);
  }
}

const comesBack = ({ labels: before, at }: Written, labels: Labels, now: MonotonicInstant): boolean =>
  elapsed(at, now) < PEACE && Object.entries(labels).some(([key, value]) => before[key] === value);
