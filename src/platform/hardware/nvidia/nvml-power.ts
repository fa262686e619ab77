import { type EnergyCounterSample, powerBetween } from "../../../core/control/index.ts";
import { elapsed, joules, milliseconds, type Watts, wattsFromMilliwatts } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { orUnsupported } from "./nvml-board.ts";
import type { NvmlHandle } from "./nvml-functions.ts";
import type { NvmlCaller } from "./nvml-session.ts";

/** The energy counter updates several times a second: a difference over a shorter time is inaccurate. */
const MIN_INTERVAL = milliseconds(2_000);

/** Power draw of boards: the mean since the last reading if the board has an energy counter, else its power reading. */
export class NvmlPower {
  readonly #clock: Clock;
  readonly #before = new Map<string, EnergyCounterSample>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `maxPower` is the board's maximum: a counter that implies far more has been reset. */
  async of(call: NvmlCaller, id: string, handle: NvmlHandle, maxPower: Watts | undefined): Promise<Watts> {
    const [millijoules] = await orUnsupported(call(id, "totalEnergy", handle));
    const mean = millijoules === undefined ? undefined : this.#mean(id, millijoules, maxPower);
    if (mean !== undefined) return mean;
    const [milliwatts] = await call(id, "powerUsage", handle);
    return wattsFromMilliwatts(milliwatts);
  }

  /** Drops the last sample after a new limit, so that no mean spans two limits. */
  restart(id: string): void {
    this.#before.delete(id);
  }

  #mean(id: string, millijoules: number, ratedPower: Watts | undefined): Watts | undefined {
    const sample: EnergyCounterSample = { energy: joules(millijoules / 1000), at: this.#clock.monotonic() };
    const before = this.#before.get(id);
    if (before !== undefined && elapsed(before.at, sample.at) < MIN_INTERVAL) return undefined;
    this.#before.set(id, sample);
    return before === undefined ? undefined : powerBetween(before, sample, { ratedPower }).power;
  }
}
