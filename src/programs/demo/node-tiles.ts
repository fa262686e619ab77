import { shortWatts } from "./quantities.ts";
import { LABEL, type Segment, type Style, type TextLine } from "./text-line.ts";

/** What a node is doing, in the order of the legend. */
export const nodeStates = [
  "performance",
  "eco",
  "draining",
  "stopping",
  "asleep",
  "waking",
  "failed",
  "unknown",
] as const;
export type NodeState = (typeof nodeStates)[number];

export interface NodeTile {
  readonly name: string;
  readonly state: NodeState;
  readonly watts: number;
  /** Power at full load without caps. */
  readonly fullWatts: number;
}

export interface RackTiles {
  readonly rack: string;
  readonly nodes: readonly NodeTile[];
}

export function countStates(racks: readonly RackTiles[]): Readonly<Record<NodeState, number>> {
  const counts = Object.fromEntries(nodeStates.map((state) => [state, 0])) as Record<NodeState, number>;
  for (const { nodes } of racks) for (const { state } of nodes) counts[state]++;
  return counts;
}

/** Letters as well as colours: the view must be readable without colours. */
export const stateMarks: Readonly<Record<NodeState, readonly [letter: string, style: Style]>> = {
  performance: ["P", "cyan"],
  eco: ["e", "green"],
  draining: ["d", "yellow"],
  stopping: ["s", "blue"],
  asleep: ["z", "dim"],
  waking: ["w", "magenta"],
  failed: ["!", "red"],
  unknown: ["?", "red"],
};

/** How much a tile shows. */
interface TileFormat {
  /** Columns of a tile, including the space after it. */
  readonly columns: number;
  tile(node: NodeTile): readonly Segment[];
}

const GAP = "  ";
const BARS = "▁▂▃▄▅▆▇█";

/** Renders all nodes as tiles by rack in at most `rows` lines, with as much detail as fits. */
export function renderTiles(racks: readonly RackTiles[], width: number, rows: number): readonly TextLine[] {
  const byRack = formatsFor(racks).map((format) => layOut(racks, format, width));
  const lines = byRack.find((made) => made !== undefined && made.length <= rows) ?? oneTilePerRack(racks, width);
  return lines.length <= rows ? lines : lines.slice(0, Math.max(0, rows));
}

/** From most to least detailed. */
function formatsFor(racks: readonly RackTiles[]): readonly TileFormat[] {
  const name = Math.max(1, ...racks.flatMap(({ nodes }) => nodes.map((node) => Array.from(node.name).length)));
  const named = (watts: boolean): TileFormat => ({
    columns: name + (watts ? 12 : 5),
    tile: (node) => [
      [`${node.name.padEnd(name)} `, "dim"],
      mark(node, true),
      ...(watts ? [` ${(isOff(node) ? "off" : shortWatts(node.watts)).padStart(6)}`] : []),
      GAP,
    ],
  });
  return [
    named(true),
    named(false),
    { columns: 3, tile: (node) => [mark(node, true), " "] },
    { columns: 1, tile: (node) => [mark(node, false)] },
  ];
}

/** Undefined if not even one tile fits beside the rack's name. */
function layOut(racks: readonly RackTiles[], format: TileFormat, width: number): readonly TextLine[] | undefined {
  const labelled = Math.max(LABEL - 2, ...racks.map(({ rack }) => Array.from(rack).length)) + 2;
  const largest = Math.max(1, ...racks.map(({ nodes }) => nodes.length));
  const inLine = Math.min(largest, Math.floor((width + 1 - labelled) / format.columns));
  if (inLine < 1) return undefined;
  const block = labelled + inLine * format.columns;
  const beside = inLine < largest ? 1 : Math.max(1, Math.floor((width + 1 + GAP.length) / (block + GAP.length)));
  const lines: Segment[][] = [];
  for (let first = 0; first < racks.length; first += beside) {
    const row = racks.slice(first, first + beside);
    const height = Math.max(1, ...row.map(({ nodes }) => Math.ceil(nodes.length / inLine)));
    for (let line = 0; line < height; line++) {
      lines.push(
        row.flatMap(({ rack, nodes }, column): Segment[] => {
          const tiles = nodes.slice(line * inLine, (line + 1) * inLine);
          const missing = column === row.length - 1 ? 0 : (inLine - tiles.length) * format.columns + GAP.length;
          const start: Segment = [(line === 0 ? rack : "").padEnd(labelled), "dim"];
          return [start, ...tiles.flatMap((tile) => format.tile(tile)), " ".repeat(missing)];
        }),
      );
    }
  }
  return lines;
}

/** For clusters that are too large for a tile per node: the most frequent state of each rack, and its power. */
function oneTilePerRack(racks: readonly RackTiles[], width: number): readonly TextLine[] {
  const [first] = racks;
  if (first === undefined) return [];
  const tiles = racks.map(({ rack, nodes }) => mark({ name: rack, ...summed(nodes) }, true));
  const inLine = Math.max(1, Math.floor((width + 1) / 3));
  const lines: Segment[][] = [[["one tile for each rack: its most frequent state", "dim"]]];
  for (let from = 0; from < tiles.length; from += inLine)
    lines.push(tiles.slice(from, from + inLine).flatMap((tile) => [tile, " "]));
  return lines;
}

function summed(nodes: readonly NodeTile[]): Omit<NodeTile, "name"> {
  const counts = new Map<NodeState, number>();
  let [watts, fullWatts] = [0, 0];
  for (const node of nodes) {
    counts.set(node.state, (counts.get(node.state) ?? 0) + 1);
    watts += node.watts;
    fullWatts += node.fullWatts;
  }
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one);
  return { state: most?.[0] ?? "unknown", watts, fullWatts };
}

function mark(node: NodeTile, withBar: boolean): Segment {
  const [letter, style] = stateMarks[node.state];
  return [withBar ? `${letter}${isOff(node) ? " " : barOf(node)}` : letter, style];
}

const isOff = ({ state, watts }: NodeTile): boolean => state === "asleep" && watts < 1;

function barOf({ watts, fullWatts }: NodeTile): string {
  const share = fullWatts > 0 ? watts / fullWatts : 0;
  return BARS[Math.min(BARS.length - 1, Math.max(0, Math.floor(share * BARS.length)))] ?? " ";
}
