import type { Joules, Seconds, Watts } from "../../core/units/index.ts";
import { joules } from "../../core/units/index.ts";

/** Power and energy of all nodes at one moment of simulated time. */
export interface EnergySample {
  readonly seconds: Seconds;
  readonly watts: Watts;
  /** Counted by the simulator, exactly, since its start. */
  readonly joules: Joules;
}

export interface EnergyFigures {
  readonly samples: number;
  readonly integralJoules: Joules;
  readonly sampledJoules: Joules;
  /** How far the second is from the first, as a share of it. */
  readonly difference: number | undefined;
}

/** Adds up power as a meter beside the cluster would that looks at it now and then; the simulator's own count must agree. */
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

  get figures(): EnergyFigures {
    const integral = (this.#last?.joules ?? 0) - (this.#first?.joules ?? 0);
    return {
      samples: this.#samples,
      integralJoules: joules(integral),
      sampledJoules: joules(this.#sampled),
      difference: integral > 0 ? Math.abs(this.#sampled - integral) / integral : undefined,
    };
  }
}
