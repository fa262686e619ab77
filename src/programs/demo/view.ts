import type { Ansis } from "ansis";
import type { Instant, Milliseconds } from "../../core/units/index.ts";
import { printable } from "../../platform/log/index.ts";
import type { DrainingNode } from "./cluster-observer.ts";
import type { DecisionFeedItem } from "./decision-feed.ts";
import type { ViewData } from "./view-data.ts";

type Style = "strong" | "dim" | "green" | "yellow" | "red" | "cyan";
type Segment = string | readonly [text: string, style: Style];

const LABEL = 9;
const WIDEST_BAR = 60;
const tones: Readonly<Record<DecisionFeedItem["tone"], Style>> = {
  up: "cyan",
  down: "green",
  waits: "yellow",
  plain: "dim",
};

/** Renders the live view, one string per terminal line, none wider than `width`. */
export function renderFrame(frame: ViewData, width: number, color: Ansis, hasKeys = false): readonly string[] {
  const { classes, drains, draining, pods, notice } = frame;
  const { performance, eco, draining: inDrain, asleep, unknown } = classes;
  const lines: Segment[][] = [
    [
      ["joulie demo", "strong"],
      `  ${timeOfDay(frame.time)} simulated, ${speedText(frame.speed)}`,
      [`  ${runText(frame, hasKeys)}`, "dim"],
    ],
    [label("power"), ...bar(frame, width - LABEL - 2)],
    [
      label(""),
      `${kilowatts(frame.power.drawn)} drawn of ${kilowatts(frame.power.capped)} under caps, ${kilowatts(frame.power.uncapped)} without`,
    ],
    [
      label("nodes"),
      [`${performance} performance`, "cyan"],
      "   ",
      [`${eco} eco`, "green"],
      "   ",
      [`${inDrain} draining`, "yellow"],
      ...(asleep > 0 ? (["   ", [`${asleep} asleep`, "dim"]] as const) : []),
      ...(unknown > 0 ? (["   ", [`${unknown} unknown`, "red"]] as const) : []),
    ],
    [label("drains"), `${drains.deferred} deferred, ${drains.completed} completed, ${drains.takenBack} taken back`],
    [label(""), [drainingText(draining, frame.time), "yellow"]],
    [
      label("pods"),
      `${pods.running} running (${pods.performance} performance), ${pods.waiting} waiting, ${pods.finished} finished`,
    ],
    [
      label("energy"),
      `${kilowattHours(frame.energy)} so far${frame.pue === undefined ? "" : `; PUE ${frame.pue.toFixed(2)}`}`,
    ],
    [label(""), [notice ?? "", "red"]],
    [["last decisions", "strong"]],
    ...frame.news.map((item): Segment[] => [
      [`  ${timeOfDay(item.at)} `, "dim"],
      [item.about, tones[item.tone]],
      ` ${item.text}`,
    ]),
  ];
  return lines.map((line) => fitted(line, width, color));
}

const explanation: readonly (readonly [about: string, text: string])[] = [
  ["power", "█ what all nodes draw now, ▒ what their caps allow, ░ what the"],
  ["", "hardware could draw without caps."],
  ["nodes", "performance: full speed. eco: capped to save energy. draining:"],
  ["", "becomes eco once its last performance pod has ended; until then"],
  ["", "its caps stay open."],
  ["drains", "deferred: had to wait for a performance pod. completed: became eco"],
  ["", "since. taken back: work came, and the node stayed performance."],
  ["pods", "Simulated jobs. Performance pods never start on eco or draining"],
  ["", "nodes; others prefer eco nodes. waiting: no node has room yet."],
  ["energy", "Used since the start, in simulated time. PUE: power of the whole"],
  ["", "site divided by the power of its computers; 1 is no overhead."],
  ["last decisions", ""],
  ["", "What operator and scheduler decided last, and why. The pages named"],
  ["", "above the view show all of it; kubectl looks inside."],
  ["", ""],
  ["q or Ctrl-C", " ends the demo with a summary. ? or Escape goes back to the view."],
];

/** Renders the explanation that `?` shows. */
export const renderExplanation = (width: number, color: Ansis): readonly string[] =>
  [
    [["joulie demo", "strong"], "  what you see, line by line"] as Segment[],
    ...explanation.map(([about, text]): Segment[] => [label(about), text]),
  ].map((line) => fitted(line, width, color));

/** One status line for output that is not a terminal. */
export function plainLine(frame: ViewData): string {
  const { classes, drains, pods } = frame;
  return [
    `${timeOfDay(frame.time)} ${speedText(frame.speed)}`,
    `${kilowatts(frame.power.drawn)} of ${kilowatts(frame.power.capped)}`,
    `${classes.performance} performance, ${classes.eco} eco, ${classes.draining} draining`,
    `drains ${drains.deferred} deferred, ${drains.completed} completed`,
    `pods ${pods.running} running, ${pods.waiting} waiting, ${pods.finished} finished`,
    kilowattHours(frame.energy),
  ].join(" | ");
}

/** Draws power, capped power and the hardware limit on one scale. */
function bar({ power: { drawn, capped, uncapped } }: ViewData, room: number): Segment[] {
  const width = Math.max(1, Math.min(WIDEST_BAR, room));
  const scale = Math.max(drawn, capped, uncapped);
  const places = (value: number): number => (scale > 0 ? Math.round((width * value) / scale) : 0);
  const [used, allowed] = [Math.min(width, places(drawn)), Math.min(width, places(capped))];
  const free = Math.max(0, allowed - used);
  return [
    ["█".repeat(used), drawn > capped ? "red" : "green"],
    ["▒".repeat(free), "cyan"],
    ["░".repeat(width - used - free), "dim"],
  ];
}

function drainingText(draining: readonly DrainingNode[], now: Instant): string {
  const shown = draining.map(({ node, since, pods }) => {
    const minutes = Math.max(0, Math.round((now - since) / 60_000));
    return `${node} (${pods} ${pods === 1 ? "pod" : "pods"}, ${minutes} min)`;
  });
  return shown.join(", ");
}

const label = (text: string): Segment => [text.padEnd(LABEL), "dim"];

function fitted(line: readonly Segment[], width: number, color: Ansis): string {
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
    text += cut === "" ? "" : painted(cut, style, color);
  }
  return text;
}

const paints: Readonly<Record<Style, (color: Ansis) => (text: string) => string>> = {
  strong: (color) => color.bold,
  dim: (color) => color.dim,
  green: (color) => color.green,
  yellow: (color) => color.yellow,
  red: (color) => color.red,
  cyan: (color) => color.cyan,
};

const painted = (text: string, style: Style | undefined, color: Ansis): string =>
  style === undefined ? text : paints[style](color)(text);

const timeOfDay = (at: Instant): string => new Date(at).toISOString().slice(11, 19);

const speedText = (speed: number): string =>
  speed === 1 ? "in real time" : `at ${Number(speed.toPrecision(3))} times the speed`;

function runText({ running, duration }: ViewData, hasKeys: boolean): string {
  const time = duration === undefined ? clockText(running) : `${clockText(running)} of ${clockText(duration)}`;
  if (hasKeys) return `${time}, q quits, ? explains`;
  return duration === undefined ? `${time}, Ctrl-C ends it` : time;
}

function clockText(length: Milliseconds): string {
  const seconds = Math.floor(length / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

const kilowatts = (watts: number): string => `${(watts / 1000).toFixed(1)} kW`;
export const kilowattHours = (joules: number): string => `${(joules / 3.6e6).toFixed(1)} kWh`;
