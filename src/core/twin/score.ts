import { type Percent, percent } from "../units/index.ts";

/** Into [0, 100]; what is no number scores 0. */
export const score = (value: number): Percent => percent(value > 0 ? Math.min(100, value) : 0);
