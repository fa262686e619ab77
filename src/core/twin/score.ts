import { type Percent, percent } from "../units/index.ts";

/** Clamps to [0, 100]. NaN gives no score, because 0 would mean no stress. */
export const toScore = (value: number): Percent | undefined =>
  Number.isNaN(value) ? undefined : percent(Math.min(100, Math.max(0, value)));
