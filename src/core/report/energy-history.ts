import { type Instant, instant, milliseconds } from "../units/index.ts";
import { EnergyAccount, type EnergySample, type EnergyTotals, type StoredEnergyAccount } from "./energy-account.ts";

/** The state of a history as JSON, to be continued later. */
export interface StoredEnergyHistory {
  readonly version: 2;
  /** The oldest first. */
  readonly hours: readonly StoredEnergyAccount[];
}

const HOUR = milliseconds(3_600_000);
const DAY = milliseconds(24 * HOUR);
/** A day, and the hour that has begun. */
const RETAINED = milliseconds(DAY + HOUR);
/** Of all hours together: a day of 1,250 nodes or six hours of 5,000, in the file two megabytes. */
const ROWS_LIMIT = 30_000;
/** The row of an hour whose nodes are no longer kept apart. No node has this name: it is not allowed in Kubernetes. */
export const EARLIER_NODES = "(nodes of earlier hours)";

/** An account that continues at this time, with nothing counted. */
const emptyUntil = (at: Instant): EnergyAccount =>
  new EnergyAccount({ version: 2, from: at, to: at, covered: 0, time: 0, nodes: {} });
const hourOf = (at: Instant): number => Math.floor(at / HOUR);

/**
 * The energy of each hour of the last day, for the question what was saved since a time. A window consists of whole hours. In a large
 * cluster the nodes of older hours are added up; the sums over classes and causes stay.
 */
export class EnergyHistory {
  readonly #rowsLimit: number;
  #hours: EnergyAccount[];
  #last: EnergySample | undefined;

  constructor(stored?: StoredEnergyHistory, rowsLimit = ROWS_LIMIT) {
    this.#rowsLimit = rowsLimit;
    this.#hours = (stored?.hours ?? []).map((hour) => new EnergyAccount(hour));
  }

  /** A sample that is not newer than the last one has no effect. */
  add(sample: EnergySample): void {
    const newest = this.#hours.at(-1)?.until;
    if (newest !== undefined && sample.at <= newest) {
      if (newest - sample.at <= HOUR) return;
      // The clock was set back: what lies in its future cannot be kept apart from what comes.
      this.#hours = this.#hours.filter((hour) => (hour.until ?? 0) <= sample.at);
      this.#last = undefined;
    }
    const current = this.#hours.at(-1);
    if (current?.until === undefined || hourOf(current.until) !== hourOf(sample.at))
      this.#begin(sample, current?.until);
    else current.add(sample);
    this.#last = sample;
  }

  #begin(sample: EnergySample, until: Instant | undefined): void {
    const next =
      this.#last === undefined && until !== undefined
        ? // After a restart: the time in between counts as not covered.
          emptyUntil(instant(Math.max(until, sample.at - DAY)))
        : new EnergyAccount();
    // What the last sample showed held until this one.
    if (this.#last !== undefined) next.add(this.#last);
    next.add(sample);
    this.#hours = [...this.#hours.filter((hour) => sample.at - (hour.until ?? 0) <= RETAINED), next];
    let rows = this.#hours.reduce((sum, { size }) => sum + size, 0);
    // The hour that begins now stays as it is.
    for (const hour of this.#hours.slice(0, -1)) {
      if (rows <= this.#rowsLimit) break;
      rows -= hour.size;
      hour.fold(EARLIER_NODES);
      rows += hour.size;
    }
  }

  /** The whole hours that contain the time since then; `from` of the totals says where they begin. */
  totals(since: Instant): EnergyTotals {
    const sum = new EnergyAccount();
    for (const hour of this.#hours) if ((hour.until ?? instant(0)) > since) sum.absorb(hour);
    return sum.totals;
  }

  get stored(): StoredEnergyHistory {
    return { version: 2, hours: this.#hours.flatMap((hour) => hour.stored ?? []) };
  }
}
