/** Where nodes lie on the map, in units of one tile. */
interface MapGroup {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly columns: number;
  readonly rows: number;
  readonly slots: readonly number[];
}

export interface MapTile {
  readonly slot: number;
  readonly x: number;
  readonly y: number;
}

export interface MapLayout {
  readonly groups: readonly MapGroup[];
  readonly tiles: readonly MapTile[];
  readonly width: number;
  readonly height: number;
}

const GAP = 0.8;
const HEADER = 0.9;
const PADDING = 0.3;

/** Places groups as boxes in rows, so that the whole has about the given ratio of width to height. */
export function layoutOf(groups: ReadonlyMap<string, readonly number[]>, ratio: number): MapLayout {
  const boxes = Array.from(groups, ([name, slots]) => {
    const columns = Math.max(2, Math.ceil(Math.sqrt(slots.length * 1.6)));
    const rows = Math.ceil(slots.length / columns);
    return { name, slots, columns, rows, width: columns + 2 * PADDING, height: rows + HEADER + PADDING };
  });
  const limit = bestLimit(boxes, ratio);
  const placed: MapGroup[] = [];
  const tiles: MapTile[] = [];
  let [x, y, rowHeight, width] = [0, 0, 0, 1];
  for (const box of boxes) {
    if (x > 0 && x + box.width > limit) [x, y, rowHeight] = [0, y + rowHeight + GAP, 0];
    placed.push({ name: box.name, x, y, columns: box.columns, rows: box.rows, slots: box.slots });
    for (const [index, slot] of box.slots.entries())
      tiles.push({
        slot,
        x: x + PADDING + (index % box.columns),
        y: y + HEADER + Math.floor(index / box.columns),
      });
    width = Math.max(width, x + box.width);
    x += box.width + GAP;
    rowHeight = Math.max(rowHeight, box.height);
  }
  return { groups: placed, tiles, width, height: Math.max(1, y + rowHeight) };
}

interface Box {
  readonly width: number;
  readonly height: number;
}

const TRIES = 40;

/** The width of rows with which tiles become largest. */
function bestLimit(boxes: readonly Box[], ratio: number): number {
  const widest = Math.max(1, ...boxes.map(({ width }) => width));
  const all = boxes.reduce((sum, { width }) => sum + width + GAP, 0);
  let best = { limit: widest, size: Number.POSITIVE_INFINITY };
  for (let step = 0; step <= TRIES; step++) {
    const limit = widest + ((all - widest) * step) / TRIES;
    let [x, y, rowHeight, width] = [0, 0, 0, 0];
    for (const box of boxes) {
      if (x > 0 && x + box.width > limit) [x, y, rowHeight] = [0, y + rowHeight + GAP, 0];
      width = Math.max(width, x + box.width);
      x += box.width + GAP;
      rowHeight = Math.max(rowHeight, box.height);
    }
    const size = Math.max(width / ratio, y + rowHeight);
    if (size < best.size) best = { limit, size };
  }
  return best.limit;
}

export type Direction = "left" | "right" | "up" | "down";

/** The tile that an arrow key leads to: the nearest in that direction, those straight ahead first. */
export function neighbour(tiles: readonly MapTile[], from: number, direction: Direction): number {
  const start = tiles[from];
  if (start === undefined) return tiles.length > 0 ? 0 : -1;
  const horizontal = direction === "left" || direction === "right";
  const sign = direction === "left" || direction === "up" ? -1 : 1;
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, tile] of tiles.entries()) {
    const ahead = sign * (horizontal ? tile.x - start.x : tile.y - start.y);
    if (ahead <= 0.01) continue;
    const aside = Math.abs(horizontal ? tile.y - start.y : tile.x - start.x);
    const cost = ahead + aside * 3;
    if (cost < least) [best, least] = [index, cost];
  }
  if (best < 0 && horizontal) best = from + sign;
  return best >= 0 && best < tiles.length ? best : from;
}
