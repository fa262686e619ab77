import { type Joules, joules, type Seconds, seconds, type Watts } from "../../core/units/index.ts";

/** Power and energy of all nodes at one moment of simulated time. */
export interface ClusterEnergySample {
  readonly seconds: Seconds;
  readonly watts: Watts;
  /** Counted by the simulator, exactly, since its start. */
  readonly joules: Joules;
}

export interface EnergyMeterTotals {
  readonly samples: number;
  /** Of simulated time, that it has measured. */
  readonly seconds: Seconds;
  /** As the meter has it, and as the simulator has counted it over the same time. */
  readonly meteredJoules: Joules;
  readonly integralJoules: Joules;
}

/**
 * Adds up power as a meter beside the cluster would that looks at it now and then. Where it could not look for too long it
 * knows nothing, and that time counts on neither side.
 */
export class SampledEnergyMeter {
  #last: ClusterEnergySample | undefined;
  #metered = 0;
  #integral = 0;
  #samples = 0;
  #seconds = 0;

  add(sample: ClusterEnergySample, longestGap: Seconds): void {
    const before = this.#last;
    if (before !== undefined && !(sample.seconds > before.seconds)) return;
    this.#last = sample;
    const passed = before === undefined ? undefined : sample.seconds - before.seconds;
    if (before === undefined || passed === undefined || passed > longestGap) return;
    this.#samples++;
    this.#seconds += passed;
    this.#metered += ((before.watts + sample.watts) / 2) * passed;
    this.#integral += sample.joules - before.joules;
  }

  get figures(): EnergyMeterTotals {
    return {
      samples: this.#samples,
      seconds: seconds(this.#seconds),
      meteredJoules: joules(this.#metered),
      integralJoules: joules(this.#integral),
    };
  }
}

/** How far a figure is from the one it should be, as a share of that; undefined where there is nothing to compare. */
export const relativeDifference = (figure: number, from: number): number | undefined =>
  from > 0 && Number.isFinite(figure) ? Math.abs(figure - from) / from : undefined;
