import { type EnergyCounterSample, powerBetween } from "../../../core/control/index.ts";
import { elapsed, joules, milliseconds, type Watts, wattsFromMilliwatts } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { orUnsupported } from "./nvml-board.ts";
import type { NvmlHandle } from "./nvml-functions.ts";
import type { NvmlCaller } from "./nvml-session.ts";

/** The energy counter moves several times a second: over less than this its difference says little. */
const LEAST_GAP = milliseconds(2_000);

/** What boards draw: the mean since the last look where they count their energy, else what they say they draw now. */
export class NvmlPower {
  readonly #clock: Clock;
  readonly #before = new Map<string, EnergyCounterSample>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `most` is what the board may draw: a counter that says far more has started over. */
  async of(call: NvmlCaller, id: string, handle: NvmlHandle, most: Watts | undefined): Promise<Watts> {
    const [millijoules] = await orUnsupported(call(id, "totalEnergy", handle));
    const mean = millijoules === undefined ? undefined : this.#mean(id, millijoules, most);
    if (mean !== undefined) return mean;
    const [milliwatts] = await call(id, "powerUsage", handle);
    return wattsFromMilliwatts(milliwatts);
  }

  /** A new limit: no mean reaches back to before it. */
  restart(id: string): void {
    this.#before.delete(id);
  }

  #mean(id: string, millijoules: number, ratedPower: Watts | undefined): Watts | undefined {
    const sample: EnergyCounterSample = { energy: joules(millijoules / 1000), at: this.#clock.monotonic() };
    const before = this.#before.get(id);
    if (before !== undefined && elapsed(before.at, sample.at) < LEAST_GAP) return undefined;
    this.#before.set(id, sample);
    return before === undefined ? undefined : powerBetween(before, sample, { ratedPower }).power;
  }
}
