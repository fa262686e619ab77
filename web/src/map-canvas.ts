import { type Fleet } from "./fleet.ts";
import type { MapLayout } from "./map-layout.ts";
import { classColors, colorOf, inkOn } from "./palette.ts";
import type { ColorMode } from "./store.ts";

/** The part of the map that the canvas shows: pixels per tile and the place of its corner. */
export interface MapView {
  scale: number;
  x: number;
  y: number;
}

export interface MapScene {
  readonly fleet: Fleet;
  readonly layout: MapLayout;
  readonly view: MapView;
  readonly mode: ColorMode;
  readonly now: number;
  readonly dark: boolean;
  /** Index of the tile under the keyboard's or the pointer's focus; -1 for none. */
  readonly focus: number;
  readonly hasKeyboard: boolean;
  readonly selected: string | undefined;
}

/** Smaller letters are not legible, and text costs more than tiles. */
const LETTERS_FROM = 16;
const NAMES_FROM = 64;
const HEADERS_FROM = 5;

/** Draws what is visible. Tiles of one colour are drawn together: changing the colour costs more than a tile. */
export function drawMap(context: CanvasRenderingContext2D, width: number, height: number, scene: MapScene): void {
  const { fleet, layout, view, mode, now, dark, focus, hasKeyboard } = scene;
  const { scale } = view;
  const ink = dark ? "#c6ced6" : "#3c444c";
  context.clearRect(0, 0, width, height);
  drawGroups(context, width, height, scene, ink);
  const gap = scale < 4 ? 0 : scale < 10 ? 1 : 2;
  const size = Math.max(1, scale - gap);
  const byColor = new Map<string, number[]>();
  for (const [index, { slot, x, y }] of layout.tiles.entries()) {
    const left = (x - view.x) * scale;
    const top = (y - view.y) * scale;
    if (left > width || top > height || left + scale < 0 || top + scale < 0) continue;
    const color = colorOf(fleet, slot, mode, now, dark);
    const list = byColor.get(color);
    if (list === undefined) byColor.set(color, [index]);
    else list.push(index);
  }
  for (const [color, indexes] of byColor) {
    context.fillStyle = color;
    for (const index of indexes) {
      const tile = layout.tiles[index];
      if (tile !== undefined) context.fillRect((tile.x - view.x) * scale, (tile.y - view.y) * scale, size, size);
    }
    if (scale >= LETTERS_FROM) drawMarks(context, scene, indexes, size, inkOn(color));
  }
  const selectedSlot = scene.selected === undefined ? -1 : fleet.slotOf(scene.selected);
  for (const [index, { slot, x, y }] of layout.tiles.entries()) {
    if (slot !== selectedSlot && index !== focus) continue;
    context.strokeStyle = dark ? "#ffffff" : "#000000";
    context.lineWidth = index === focus && hasKeyboard ? 3 : 2;
    context.setLineDash(slot === selectedSlot ? [] : [3, 2]);
    context.strokeRect((x - view.x) * scale - 1, (y - view.y) * scale - 1, size + 2, size + 2);
    context.setLineDash([]);
  }
}

function drawGroups(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  { layout, view, dark }: MapScene,
  ink: string,
): void {
  const { scale } = view;
  const font = Math.min(13, Math.max(9, scale * 0.62));
  for (const { name, x, y, columns, rows } of layout.groups) {
    const left = (x - view.x) * scale;
    const top = (y - view.y) * scale;
    const boxWidth = (columns + 0.6) * scale;
    const boxHeight = (rows + 1.2) * scale;
    if (left > width || top > height || left + boxWidth < 0 || top + boxHeight < 0) continue;
    context.fillStyle = dark ? "#1d2329" : "#f1f3f5";
    context.fillRect(left, top, boxWidth, boxHeight);
    if (scale < HEADERS_FROM) continue;
    context.fillStyle = ink;
    context.font = `600 ${font}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.fillText(
      clipped(context, name === "" ? "no value" : name, boxWidth - scale * 0.6),
      left + scale * 0.3,
      top + scale * 0.45,
    );
  }
}

/** Letters for classes, stripes for sleeping nodes and a dot for pinned ones: colour alone carries no information. */
function drawMarks(
  context: CanvasRenderingContext2D,
  { fleet, layout, view, mode }: MapScene,
  indexes: readonly number[],
  size: number,
  ink: string,
): void {
  const { scale } = view;
  context.fillStyle = ink;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.font = `600 ${Math.min(15, size * 0.55)}px system-ui, sans-serif`;
  for (const index of indexes) {
    const tile = layout.tiles[index];
    if (tile === undefined) continue;
    const left = (tile.x - view.x) * scale;
    const top = (tile.y - view.y) * scale;
    const text = mode === "class" ? classColors[fleet.classOf(tile.slot)].letter : "";
    const middle = scale >= NAMES_FROM ? top + size * 0.36 : top + size / 2 + 0.5;
    if (text !== "") context.fillText(text, left + size / 2, middle);
    if (fleet.value("pinned", tile.slot) === 1)
      context.fillRect(left + 2, top + 2, Math.max(2, size * 0.14), Math.max(2, size * 0.14));
    if (scale < NAMES_FROM) continue;
    context.font = "11px system-ui, sans-serif";
    context.fillText(clipped(context, fleet.names[tile.slot] ?? "", size - 6), left + size / 2, top + size * 0.74);
    context.font = `600 ${Math.min(15, size * 0.55)}px system-ui, sans-serif`;
  }
  context.textAlign = "start";
}

/** The text as far as it fits. It is drawn as text, whatever it contains. */
function clipped(context: CanvasRenderingContext2D, text: string, width: number): string {
  const short = text.slice(0, 80);
  if (context.measureText(short).width <= width) return short;
  let end = short.length - 1;
  while (end > 1 && context.measureText(`${short.slice(0, end)}…`).width > width) end -= Math.max(1, end >> 3);
  return `${short.slice(0, Math.max(1, end))}…`;
}
