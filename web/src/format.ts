// Numbers and times as people read them. Unknown is a dash, never 0.
export const UNKNOWN = "–";

export function watts(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  const size = Math.abs(value);
  if (size >= 999_500) return `${(value / 1e6).toFixed(2)} MW`;
  if (size >= 9995) return `${(value / 1000).toFixed(1)} kW`;
  return size >= 999.5 ? `${(value / 1000).toFixed(2)} kW` : `${Math.round(value)} W`;
}

export const percent = (value: number | null | undefined): string =>
  value === null || value === undefined ? UNKNOWN : `${Math.round(value)} %`;

export function kilowattHours(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return `${(value / 1000).toFixed(2)} MWh`;
  return size >= 10 ? `${value.toFixed(1)} kWh` : `${value.toFixed(2)} kWh`;
}

export const money = (value: number): string => value.toFixed(Math.abs(value) < 10 ? 2 : 0);

export function kilograms(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return `${(value / 1000).toFixed(2)} t`;
  return size >= 10 ? `${value.toFixed(1)} kg` : `${value.toFixed(2)} kg`;
}

export const joules = (value: number): string =>
  Math.abs(value) >= 1000 ? `${(value / 1000).toFixed(1)} kJ` : `${Math.round(value)} J`;

/** `12 s`, `4 min`, `3 h`, `2 d`. */
function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

export const age = (at: number | null | undefined, now: number): string =>
  at === null || at === undefined ? UNKNOWN : duration(now - at);

export const clock = (at: number): string =>
  new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
