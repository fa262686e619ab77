import type { Ansis } from "ansis";
import { printable } from "../../platform/log/index.ts";

export type Style = "strong" | "dim" | "green" | "yellow" | "red" | "cyan" | "magenta" | "blue";
/** A piece of a line, with or without a style. */
export type Segment = string | readonly [text: string, style: Style];
export type TextLine = readonly Segment[];

/** Columns of the names at the left. */
export const LABEL = 9;
/** Columns to the right of the labels in a line of this width. */
export const roomBesideLabel = (width: number): number => Math.max(1, width - LABEL);

/** The first segment of a line: a short name in a column of its own. */
export const label = (text: string): Segment => [text.padEnd(LABEL), "dim"];

/** Renders a line, cut to `width` columns. */
export function renderLine(line: TextLine, width: number, color: Ansis): string {
  let left = width;
  let text = "";
  for (const segment of line) {
    const [own, style] = typeof segment === "string" ? [segment, undefined] : segment;
    // Escape before measuring: names and texts come from API objects.
    const plain = printable(own);
    const characters = Array.from(plain);
    const cut =
      characters.length > left ? `${characters.slice(0, Math.max(0, left - 1)).join("")}${left > 0 ? "…" : ""}` : plain;
    left -= Math.min(left, characters.length);
    text += cut === "" ? "" : style === undefined ? cut : color[paints[style]](cut);
  }
  return text;
}

const paints = {
  strong: "bold",
  dim: "dim",
  green: "green",
  yellow: "yellow",
  red: "red",
  cyan: "cyan",
  magenta: "magenta",
  blue: "blue",
} as const satisfies Record<Style, keyof Ansis>;
