import type { Joules, Seconds, Watts } from "../../core/units/index.ts";
import { joules } from "../../core/units/index.ts";

/** Power and energy of all nodes at one moment of simulated time. */
export interface EnergySample {
  readonly seconds: Seconds;
  readonly watts: Watts;
  /** Counted by the simulator, exactly, since its start. */
  readonly joules: Joules;
}

export interface MeterFigures {
  readonly samples: number;
  /** As the meter has it, and as the simulator has counted it over the same time. */
  readonly meteredJoules: Joules;
  readonly integralJoules: Joules;
}

/** Adds up power as a meter beside the cluster would that looks at it now and then. */
export class EnergyMeter {
  #first: EnergySample | undefined;
  #last: EnergySample | undefined;
  #sampled = 0;
  #samples = 0;

  add(sample: EnergySample): void {
    const before = this.#last;
    if (before !== undefined && !(sample.seconds > before.seconds)) return;
    this.#first ??= sample;
    this.#last = sample;
    this.#samples++;
    if (before !== undefined) {
      this.#sampled += ((before.watts + sample.watts) / 2) * (sample.seconds - before.seconds);
    }
  }

  get figures(): MeterFigures {
    return {
      samples: this.#samples,
      meteredJoules: joules(this.#sampled),
      integralJoules: joules((this.#last?.joules ?? 0) - (this.#first?.joules ?? 0)),
    };
  }
}

/** How far a figure is from the one it should be, as a share of that; undefined where there is nothing to compare. */
export const deviation = (figure: number, from: number): number | undefined =>
  from > 0 && Number.isFinite(figure) ? Math.abs(figure - from) / from : undefined;
