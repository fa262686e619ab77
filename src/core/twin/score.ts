import { type Percent, percent } from "../units/index.ts";

/** Into [0, 100]; what is no number has no score, for 0 would say that all is well. */
export const toScore = (value: number): Percent | undefined =>
  Number.isNaN(value) ? undefined : percent(Math.min(100, Math.max(0, value)));
