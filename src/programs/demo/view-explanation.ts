import type { Ansis } from "ansis";
import { label, renderLine, type TextLine } from "./text-line.ts";
import type { ViewSize } from "./view.ts";
import type { DemoPage } from "./welcome-text.ts";

const explanation: readonly (readonly [about: string, text: string])[] = [
  ["power", "█ what processors and boards draw now, ▒ what their caps allow,"],
  ["", "░ what they could draw without caps."],
  ["wall", "Power of whole servers over time, one column per second."],
  ["", "░ what the same jobs would draw without caps, with every node on."],
  ["nodes", "A tile for each node: its state, and a bar for its power."],
  ["", "P performance: full speed. e eco: capped to save energy."],
  ["", "d draining: eco once its last performance pod has ended; its"],
  ["", "caps stay open until then. z asleep: switched off. s shuts down,"],
  ["", "w boots. ! did not wake. ? not known yet."],
  ["sleep", "Empty nodes are switched off, and on again when pods need them."],
  ["drains", "deferred: had to wait for a performance pod. completed: became"],
  ["", "eco since. taken back: work came, so it stayed performance."],
  ["pods", "Simulated jobs. Performance pods never start on eco or draining"],
  ["", "nodes. waiting: no node has room yet."],
  ["energy", "Used since the start, in simulated time. PUE: power of the whole"],
  ["", "site divided by the power of its computers."],
  ["saved", "A model: this energy against that of the same jobs, started on"],
  ["", "the same nodes at the same times, without caps and without sleep."],
  ["last decisions", ""],
  ["", "What operator and scheduler decided last, and why."],
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
