import type { PowerPoint } from "./power-chart.ts";

/** Enough for the widest terminals. */
const RETAINED = 1000;

/** The most recent power readings, oldest first. */
export class PowerHistory {
  readonly #points: PowerPoint[] = [];

  add(point: PowerPoint): void {
    this.#points.push(point);
    if (this.#points.length > RETAINED) this.#points.shift();
  }

  get points(): readonly PowerPoint[] {
    return this.#points;
  }
}
