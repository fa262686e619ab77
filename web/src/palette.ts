import type { ClassName } from "../../src/programs/dashboard/wire.ts";
import type { Fleet } from "./fleet.ts";
import type { ColorMode } from "./store.ts";

/** Colours after Okabe and Ito, which people with any kind of colour blindness tell apart; each class has a letter as well. */
export const classColors: Readonly<
  Record<ClassName, { readonly light: string; readonly dark: string; readonly letter: string }>
> = {
  performance: { light: "#0072b2", dark: "#3b9bdc", letter: "P" },
  eco: { light: "#00805c", dark: "#1fae85", letter: "E" },
  draining: { light: "#c98500", dark: "#e6a522", letter: "D" },
  asleep: { light: "#6d6a8a", dark: "#7f7ca3", letter: "Z" },
  unknown: { light: "#8d9399", dark: "#5f666d", letter: "?" },
};

const channels = (color: string): number[] => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

/** Cividis: its brightness rises evenly, also without colours. */
const ramp = ["#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838"];
const STEPS = 20;
const rampColors = Array.from({ length: STEPS + 1 }, (_, step) => mixed(step / STEPS));
export const UNKNOWN_COLOR = { light: "#d4d8dc", dark: "#3a4148" } as const;

function mixed(share: number): string {
  const place = share * (ramp.length - 1);
  const at = Math.min(ramp.length - 2, Math.floor(place));
  const [one, other] = [channels(ramp[at] ?? ""), channels(ramp[at + 1] ?? "")];
  const parts = one.map((value, index) => Math.round(value + ((other[index] ?? 0) - value) * (place - at)));
  return `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

const rampAt = (share: number): string => rampColors[Math.round(Math.min(1, Math.max(0, share)) * STEPS)] ?? "";

interface ModeInfo {
  readonly title: string;
  readonly low: string;
  readonly high: string;
}

export const modes: Readonly<Record<ColorMode, ModeInfo>> = {
  class: { title: "Class", low: "", high: "" },
  power: { title: "Power share", low: "0 % of uncapped", high: "100 %" },
  used: { title: "Power of its cap", low: "0 %", high: "100 %" },
  cooling: { title: "Cooling stress now", low: "0 %", high: "100 %" },
  age: { title: "Age of data", low: "now", high: "5 min and older" },
};

const OLD = 300_000;

/** The share of a mode, 0 to 1; undefined if unknown. */
function shareOf(fleet: Fleet, slot: number, mode: ColorMode, now: number): number | undefined {
  const value = (name: "power" | "tdp" | "cooling" | "updatedAt") => fleet.value(name, slot);
  if (mode === "class") return undefined;
  if (mode === "power") {
    const [power, tdp] = [value("power"), value("tdp")];
    return power === null || tdp === null || tdp === 0 ? undefined : power / tdp;
  }
  if (mode === "age") {
    const at = value("updatedAt");
    return at === null ? undefined : (now - at) / OLD;
  }
  const percentage = mode === "used" ? fleet.usedPercent(slot) : value(mode);
  return percentage === null ? undefined : percentage / 100;
}

export function colorOf(fleet: Fleet, slot: number, mode: ColorMode, now: number, dark: boolean): string {
  if (mode === "class") return classColors[fleet.classOf(slot)][dark ? "dark" : "light"];
  const share = shareOf(fleet, slot, mode, now);
  return share === undefined ? UNKNOWN_COLOR[dark ? "dark" : "light"] : rampAt(share);
}

export const legendRamp = (): readonly string[] => rampColors;

/** Black or white, whichever is easier to read on the colour. */
export function inkOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = channels(color);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 125 ? "#101418" : "#ffffff";
}
