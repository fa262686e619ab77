import type { Quantified } from "./brand.ts";
import type { Seconds } from "./time.ts";

export type Watts = Quantified<"W">;
/** Joules, not microjoules: 2^53 µJ is ten days at 10 kW. */
export type Joules = Quantified<"J">;
/** Rate of change of power; positive means rising. */
export type WattsPerMinute = Quantified<"W/min">;

export const watts = (value: number): Watts => value as Watts;
export const joules = (value: number): Joules => value as Joules;
export const wattsPerMinute = (value: number): WattsPerMinute => value as WattsPerMinute;

export const wattsFromMicrowatts = (microwatts: number): Watts => watts(microwatts / 1e6);
export const wattsFromMilliwatts = (milliwatts: number): Watts => watts(milliwatts / 1e3);
export const joulesFromMicrojoules = (microjoules: number): Joules => joules(microjoules / 1e6);

/** A power in texts for people: at most `digits` decimals, no trailing zeros. */
export const formatWatts = (value: number, digits = 3): string => `${Number(value.toFixed(digits))} W`;

/** Energy of a constant power over a time. */
export const energyOver = (power: Watts, time: Seconds): Joules => joules(power * time);
/** Mean power of an energy over a time. */
export const powerOver = (energy: Joules, time: Seconds): Watts => watts(energy / time);
