import type { Quantified } from "./brand.ts";

/** Sub-zero is a temperature. */
export type Celsius = Quantified<"°C">;

export const celsius = (value: number): Celsius => value as Celsius;
