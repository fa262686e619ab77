import type { Instant, Milliseconds } from "../../core/units/index.ts";

export const kilowatts = (watts: number): string => `${(watts / 1000).toFixed(1)} kW`;
/** Adding 0 makes 0 of -0. */
export const kilowattHours = (energy: number): string => `${(Math.round(energy * 10) / 10 + 0).toFixed(1)} kWh`;

/** At most six characters up to 99 kW. */
export const shortWatts = (watts: number): string => (watts < 999.5 ? `${Math.round(watts)} W` : kilowatts(watts));

export const timeOfDay = (at: Instant): string => new Date(at).toISOString().slice(11, 19);

/** Simulated seconds per real second: now, and what the demo tries to reach. */
export interface ShownSpeed {
  readonly reached: number;
  readonly wanted: number;
}

/** Names both where less is reached than wanted: time waits for late programs. */
export function speedText({ reached, wanted }: ShownSpeed): string {
  if (wanted === 1 && reached > SLOWED) return "in real time";
  const speed = Number(reached.toPrecision(2));
  return reached > SLOWED * wanted ? `at ${speed} times the speed` : `at ${speed}x of ${wanted}x`;
}

const SLOWED = 0.9;

export const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Minutes and seconds, such as 1:05. */
export function clockText(length: Milliseconds): string {
  const seconds = Math.floor(length / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
