import type { Instant, Milliseconds } from "../../core/units/index.ts";

export const kilowatts = (watts: number): string => `${(watts / 1000).toFixed(1)} kW`;
/** Adding 0 makes 0 of -0. */
export const kilowattHours = (joules: number): string => `${(Math.round(joules / 3.6e5) / 10 + 0).toFixed(1)} kWh`;

/** At most six characters up to 99 kW. */
export const shortWatts = (watts: number): string => (watts < 999.5 ? `${Math.round(watts)} W` : kilowatts(watts));

export const timeOfDay = (at: Instant): string => new Date(at).toISOString().slice(11, 19);

export const speedText = (speed: number): string =>
  speed === 1 ? "in real time" : `at ${Number(speed.toPrecision(3))} times the speed`;

export const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Minutes and seconds, such as 1:05. */
export function clockText(length: Milliseconds): string {
  const seconds = Math.floor(length / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
