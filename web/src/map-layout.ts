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

/** Tiles of a small fleet do not grow beyond this, in pixels. */
export const LARGEST_TILE = 44;
/** Columns per row of a group that are tried. */
const SHAPES = [0.7, 1.2, 1.6, 2.6];
const TRIES = 40;

/** The space for the map, in pixels. */
interface Room {
  readonly width: number;
  readonly height: number;
}

interface Box {
  readonly name: string;
  readonly slots: readonly number[];
  readonly columns: number;
  readonly rows: number;
  readonly width: number;
  readonly height: number;
}

/** Places groups as boxes in rows, so that tiles become as large as the room allows, and then the whole as low as possible. */
export function layoutOf(groups: ReadonlyMap<string, readonly number[]>, room: Room): MapLayout {
  let best = { boxes: [] as readonly Box[], limit: 1, tile: 0, height: Number.POSITIVE_INFINITY };
  for (const shape of SHAPES) {
    const boxes = boxesOf(groups, shape);
    const widest = Math.max(1, ...boxes.map(({ width }) => width));
    const all = boxes.reduce((sum, { width }) => sum + width + GAP, 0);
    for (let step = 0; step <= TRIES; step++) {
      const limit = widest + ((all - widest) * step) / TRIES;
      const { width, height } = placed(boxes, limit);
      const tile = Math.min(LARGEST_TILE, room.width / width, room.height / height);
      if (tile > best.tile || (tile === best.tile && height < best.height)) best = { boxes, limit, tile, height };
    }
  }
  const tiles: MapTile[] = [];
  const at: MapGroup[] = [];
  const { width, height } = placed(best.boxes, best.limit, ({ name, slots, columns, rows }, x, y) => {
    at.push({ name, x, y, columns, rows, slots });
    for (const [index, slot] of slots.entries())
      tiles.push({ slot, x: x + PADDING + (index % columns), y: y + HEADER + Math.floor(index / columns) });
  });
  return { groups: at, tiles, width, height };
}

function boxesOf(groups: ReadonlyMap<string, readonly number[]>, shape: number): readonly Box[] {
  return Array.from(groups, ([name, slots]) => {
    const columns = Math.max(2, Math.ceil(Math.sqrt(slots.length * shape)));
    const rows = Math.ceil(slots.length / columns);
    return { name, slots, columns, rows, width: columns + 2 * PADDING, height: rows + HEADER + PADDING };
  });
}

/** Places boxes in rows of at most this width, and returns the size of all. */
function placed(boxes: readonly Box[], limit: number, onBox?: (box: Box, x: number, y: number) => void): Room {
  let [x, y, rowHeight, width] = [0, 0, 0, 1];
  for (const box of boxes) {
    if (x > 0 && x + box.width > limit) [x, y, rowHeight] = [0, y + rowHeight + GAP, 0];
    onBox?.(box, x, y);
    width = Math.max(width, x + box.width);
    x += box.width + GAP;
    rowHeight = Math.max(rowHeight, box.height);
  }
  return { width, height: Math.max(1, y + rowHeight) };
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
