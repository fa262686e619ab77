import type { Ansis } from "ansis";
import { label, renderLine, type TextLine } from "./text-line.ts";
import type { ViewSize } from "./view.ts";
import type { DemoPage } from "./welcome-text.ts";

const explanation: readonly (readonly [about: string, text: string])[] = [
  ["8x of 60x", " time passes slower than wanted: it waits while this machine is busy"],
  ["power", "█ what processors and boards draw, ▒ what caps allow, ░ without caps"],
  ["wall", "whole servers, one column per second; ░ without caps and sleep"],
  ["nodes", "P performance, e eco (capped), z asleep, s shuts down, w boots,"],
  ["", "d draining (soon eco), ! did not wake, ? unknown"],
  ["sleep", "empty nodes are switched off, and on again when pods need them"],
  ["drains", "deferred: waited for a performance pod; taken back: new work came"],
  ["pods", "performance pods never start on eco or draining nodes"],
  ["energy", "in the cluster's time; PUE: whole site divided by its computers"],
  ["saved", "as `joulie savings`: the same pods and nodes without caps and sleep"],
  ["last decisions", " what operator and scheduler decided last, and why"],
];

/** Renders the explanation that `?` shows, and below it the addresses that have scrolled out of sight. */
export const renderExplanation = (
  { columns, rows }: ViewSize,
  color: Ansis,
  pages: readonly DemoPage[] = [],
): readonly string[] => {
  const lines: TextLine[] = [
    [["joulie demo", "strong"], "  what you see; ? or Escape goes back, q or Ctrl-C ends the demo"],
    ...explanation.map(([about, text]): TextLine => [label(about), text]),
    [],
    ...pages.map(([name, address]): TextLine => [[`${name.padEnd(16)} `, "dim"], address]),
  ];
  return lines.slice(0, rows).map((line) => renderLine(line, columns, color));
};
