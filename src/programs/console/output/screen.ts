import { Ansis } from "ansis";
import { printable } from "../../../platform/printable/index.ts";
import type { Screen } from "../context.ts";

/** Colours for a screen; plain text where it has none. */
export const paintFor = ({ colour }: Pick<Screen, "colour">): Ansis => new Ansis(colour ? 1 : 0);

interface Terminal {
  readonly isTerminal: boolean;
  readonly columns?: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** COLUMNS counts also in a pipe. NO_COLOR and TERM=dumb switch colours off. */
export function screenOf({ isTerminal, columns, env }: Terminal): Screen {
  const asked = Number(env["COLUMNS"]);
  const width = Number.isInteger(asked) && asked >= 20 ? asked : isTerminal ? columns : undefined;
  const noColour = (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  return { columns: width, colour: isTerminal && !noColour };
}

/** One line of a text from the cluster, at most this long. */
export function cut(text: string, width: number): string {
  const line = printable(text);
  const characters = Array.from(line);
  if (characters.length <= width) return line;
  return width < 1 ? "" : `${characters.slice(0, width - 1).join("")}…`;
}

/** Breaks a text into lines that fit; words longer than a line are cut. Returns at least one line. */
export function wrap(text: string, width: number | undefined): string[] {
  const line = printable(text);
  if (width === undefined || line.length <= width) return [line];
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(" ")) {
    if (current !== "" && current.length + 1 + word.length > width) {
      lines.push(current);
      current = "";
    }
    current = current === "" ? word : `${current} ${word}`;
  }
  return [...lines, current].map((one) => cut(one, width));
}

/** `812 W`, `12.3 kW`, `1.20 MW`; `-` if unknown. */
export function powerText(power: number | undefined): string {
  if (power === undefined) return "-";
  if (power < 10_000) return `${Math.round(power)} W`;
  return power < 999_950 ? `${(power / 1000).toFixed(1)} kW` : `${(power / 1e6).toFixed(2)} MW`;
}

/** `340 kJ` would be hard to compare: energy is in watt-hours. */
export function energyText(joules: number): string {
  const hours = joules / 3600;
  const size = Math.abs(hours);
  if (size < 1000) return `${hours.toFixed(size < 10 ? 2 : 0)} Wh`;
  return size < 1e6 ? `${(hours / 1000).toFixed(2)} kWh` : `${(hours / 1e6).toFixed(2)} MWh`;
}

export const percentText = (value: number | undefined): string =>
  value === undefined ? "-" : `${Math.round(value)} %`;

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar of a share from 0 to 1. */
export function bar(share: number | undefined, width: number): string {
  if (share === undefined || !Number.isFinite(share)) return " ".repeat(width);
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  const whole = Math.floor(eighths / 8);
  return `${"█".repeat(whole)}${EIGHTHS[eighths % 8] ?? ""}`.padEnd(width);
}

const LEVELS = "▁▂▃▄▅▆▇█";

/** The last `width` values as a line; gaps are spaces. */
export function sparkline(values: readonly (number | undefined)[], width: number): string {
  const shown = values.slice(-width);
  const known = shown.filter((value) => value !== undefined);
  const low = Math.min(...known);
  const high = Math.max(...known);
  const level = (value: number | undefined): string => {
    if (value === undefined) return " ";
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return LEVELS[Math.min(LEVELS.length - 1, Math.floor(share * LEVELS.length))] ?? " ";
  };
  return shown.map(level).join("").padStart(width);
}
