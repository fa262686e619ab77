import type { Quantified } from "./brand.ts";

/** Sub-zero values are valid. */
export type Celsius = Quantified<"°C">;

export const celsius = (value: number): Celsius => value as Celsius;
