import type { Ansis } from "ansis";
import type { Instant } from "../../core/units/index.ts";
import type { DrainingNode } from "./cluster-observer.ts";
import type { DecisionFeedItem } from "./decision-feed.ts";
import { countStates, type NodeState, nodeStates, type RackTiles, renderTiles, stateMarks } from "./node-tiles.ts";
import { renderPowerChart } from "./power-chart.ts";
import { clockText, counted, kilowattHours, kilowatts, speedText, timeOfDay } from "./quantities.ts";
import { sleepText } from "./sleep-figures.ts";
import { label, renderLine, roomBesideLabel, type Segment, type Style, type TextLine } from "./text-line.ts";
import type { EnergyFigures, ViewData } from "./view-data.ts";

export interface ViewSize {
  readonly columns: number;
  readonly rows: number;
}

const tones: Readonly<Record<DecisionFeedItem["tone"], Style>> = {
  up: "cyan",
  down: "green",
  waits: "yellow",
  plain: "dim",
};
/** States that the legend lists even if no node is in them. */
const usual: ReadonlySet<NodeState> = new Set(["performance", "eco", "draining"]);
const TALLEST_CHART = 12;
/** Shares of the rows that are left beside the fixed lines. */
const TILES_SHARE = 0.45;
const CHART_SHARE = 0.3;
const TILE_ROWS_AT_LEAST = 4;

/** A part of the view. In a low terminal the least important parts are left out. */
interface Part {
  readonly importance: number;
  readonly lines: readonly TextLine[];
}

/** Renders the live view: as many lines as the terminal has rows, none wider than its columns. */
export function renderFrame(frame: ViewData, size: ViewSize, color: Ansis, hasKeys = false): readonly string[] {
  const fixed = fixedParts(frame, size, hasKeys);
  const above = fixed.reduce((sum, { lines }) => sum + lines.length, 0);
  const free = Math.max(0, size.rows - above);
  const tiles = renderTiles(frame.racks, size.columns, Math.max(TILE_ROWS_AT_LEAST, Math.floor(TILES_SHARE * free)));
  const chart = renderPowerChart(
    frame.history,
    size.columns,
    Math.max(1, Math.min(TALLEST_CHART, Math.floor(CHART_SHARE * free))),
  );
  const [head, power, nodes, ...others] = fixed as [Part, Part, Part, ...Part[]];
  const parts = [
    head,
    power,
    { importance: 5, lines: chart },
    nodes,
    { importance: 6, lines: tiles },
    ...others,
    { importance: 1, lines: decisionLines(frame.news, free - tiles.length - chart.length) },
  ];
  return fitting(parts, size.rows).map((line) => renderLine(line, size.columns, color));
}

/** Drops the least important parts until the rest fits. */
function fitting(parts: readonly Part[], rows: number): readonly TextLine[] {
  const kept = [...parts];
  const height = () => kept.reduce((sum, { lines }) => sum + lines.length, 0);
  while (height() > rows && kept.length > 1) {
    const least = Math.min(...kept.map(({ importance }) => importance));
    kept.splice(
      kept.findIndex(({ importance }) => importance === least),
      1,
    );
  }
  return kept.flatMap(({ lines }) => lines).slice(0, rows);
}

function fixedParts(frame: ViewData, { columns }: ViewSize, hasKeys: boolean): readonly Part[] {
  const { drains, draining, sleep, pods, energy, power, notice } = frame;
  const pue = frame.pue === undefined ? "" : `; PUE ${frame.pue.toFixed(2)}`;
  return [
    {
      importance: 10,
      lines: [
        [
          ["joulie demo", "strong"],
          `  ${timeOfDay(frame.time)} ${speedText(frame.speed)}`,
          [`  ${runText(frame, hasKeys)}`, "dim"],
        ],
      ],
    },
    {
      importance: 9,
      lines: [
        [label("power"), ...bar(frame, roomBesideLabel(columns))],
        [
          label(""),
          `${kilowatts(power.drawn)} drawn of ${kilowatts(power.capped)} under caps, ${kilowatts(power.uncapped)} without`,
        ],
      ],
    },
    { importance: 8, lines: [[label("nodes"), ...legend(frame.racks)]] },
    ...(sleep === undefined ? [] : [{ importance: 6, lines: [[label("sleep"), sleepText(sleep)]] }]),
    ...(drains === undefined
      ? []
      : [
          {
            importance: 3,
            lines: [
              [
                label("drains"),
                `${drains.deferred} deferred, ${drains.completed} completed, ${drains.takenBack} taken back`,
                [drainingText(draining, frame.time), "yellow"] as const,
              ],
            ],
          },
        ]),
    {
      importance: 4,
      lines: [
        [
          label("pods"),
          `${pods.running} running (${pods.performance} performance), ${pods.waiting} waiting, ${pods.finished} finished`,
        ],
      ],
    },
    {
      importance: 7,
      lines: [
        [
          label("energy"),
          `${energy === undefined ? "not counted yet" : `${kilowattHours(energy.usedKwh)} at the wall`}${pue}`,
        ],
        [label("saved"), energy === undefined ? "-" : [savedText(energy), "green"]],
      ],
    },
    ...(notice === undefined ? [] : [{ importance: 9, lines: [[label(""), [notice, "red"] as const]] }]),
  ];
}

/** Also the legend of the tiles: each state with its letter, its colour and its number of nodes. */
function legend(racks: readonly RackTiles[]): readonly Segment[] {
  const counts = countStates(racks);
  return nodeStates.flatMap((state): Segment[] => {
    const count = counts[state];
    const [letter, style] = stateMarks[state];
    return count > 0 || usual.has(state) ? [[`${letter} ${count} ${state}`, style], "   "] : [];
  });
}

function savedText({ notUsedKwh, notUsedPct }: EnergyFigures): string {
  const pct = (notUsedPct?.estimate ?? 0).toFixed(1);
  return `${kilowattHours(notUsedKwh.estimate)} (${pct} %) so far; model: the same pods, no caps, every node on`;
}

/** The last decisions under their heading; nothing if there is no room for one. */
function decisionLines(news: readonly DecisionFeedItem[], rows: number): readonly TextLine[] {
  if (rows < 2) return [];
  return [
    [["last decisions", "strong"]],
    ...news
      .slice(1 - rows)
      .map((item): TextLine => [[`  ${timeOfDay(item.at)} `, "dim"], [item.about, tones[item.tone]], ` ${item.text}`]),
  ];
}

/** Draws power, capped power and the hardware limit on one scale. */
function bar({ power: { drawn, capped, uncapped } }: ViewData, width: number): Segment[] {
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
    return `${node} (${counted(pods, "pod")}, ${minutes} min)`;
  });
  return shown.length === 0 ? "" : `; ${shown.join(", ")}`;
}

function runText({ running, duration }: ViewData, hasKeys: boolean): string {
  const time = duration === undefined ? clockText(running) : `${clockText(running)} of ${clockText(duration)}`;
  if (hasKeys) return `${time}, q quits, ? explains`;
  return duration === undefined ? `${time}, Ctrl-C ends it` : time;
}
