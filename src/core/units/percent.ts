import type { Quantified } from "./brand.ts";

/** 0–100 for shares; also used for scores and stresses. */
export type Percent = Quantified<"%">;

export const percent = (value: number): Percent => value as Percent;

/** `percentOf(percent(60), watts(400))` is 240 W. */
export const percentOf = <Quantity extends number>(share: Percent, whole: Quantity): Quantity =>
  ((share * whole) / 100) as Quantity;
