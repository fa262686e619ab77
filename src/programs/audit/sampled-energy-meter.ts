import { type Joules, joules, type Seconds, seconds, type Watts } from "../../core/units/index.ts";

/** Total power and energy of all nodes at one point of simulated time. */
export interface ClusterEnergySample {
  readonly seconds: Seconds;
  readonly watts: Watts;
  /** Exact energy since the start, computed by the simulation. */
  readonly joules: Joules;
}

export interface EnergyMeterTotals {
  readonly samples: number;
  /** Simulated time covered by samples. */
  readonly seconds: Seconds;
  /** The meter's estimate, followed by the exact value for the same time. */
  readonly meteredJoules: Joules;
  readonly integralJoules: Joules;
  /** What the meter may be wrong by: it does not know when between two samples the power changed. */
  readonly missedJoules: Joules;
}

/**
 * Integrates power from periodic samples, as an external meter would. Gaps that are too long count in neither total.
 */
export class SampledEnergyMeter {
  #last: ClusterEnergySample | undefined;
  #metered = 0;
  #integral = 0;
  #missed = 0;
  #samples = 0;
  #seconds = 0;

  add(sample: ClusterEnergySample, maxGap: Seconds): void {
    const before = this.#last;
    if (before !== undefined && !(sample.seconds > before.seconds)) return;
    this.#last = sample;
    const passed = before === undefined ? undefined : sample.seconds - before.seconds;
    if (before === undefined || passed === undefined || passed > maxGap) return;
    this.#samples++;
    this.#seconds += passed;
    this.#metered += ((before.watts + sample.watts) / 2) * passed;
    this.#missed += (Math.abs(sample.watts - before.watts) / 2) * passed;
    this.#integral += sample.joules - before.joules;
  }

  get figures(): EnergyMeterTotals {
    return {
      samples: this.#samples,
      seconds: seconds(this.#seconds),
      meteredJoules: joules(this.#metered),
      integralJoules: joules(this.#integral),
      missedJoules: joules(this.#missed),
    };
  }
}

/** Relative difference to the expected value; undefined without a reference. */
export const relativeDifference = (figure: number, from: number): number | undefined =>
  from > 0 && Number.isFinite(figure) ? Math.abs(figure - from) / from : undefined;
