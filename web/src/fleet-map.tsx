import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { groupOf } from "./filter.ts";
import { percent, plural, watts } from "./format.ts";
import { drawMap, type MapView } from "./map-canvas.ts";
import { type Direction, LARGEST_TILE, layoutOf, type MapLayout, neighbour } from "./map-layout.ts";
import { colorMode, fleet, groups, heard, isDark, selected, version, visible } from "./store.ts";

const LARGEST_ZOOM = 120;
const MARGIN = 6;
const LEAST_HEIGHT = 140;
const arrows: Readonly<Record<string, Direction>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

const describe = (slot: number): string => {
  const power = fleet.value("power", slot);
  const cap = fleet.value("cap", slot);
  const pods = fleet.value("pods", slot);
  const drawn = power === null ? "power unknown" : `${watts(power)}${cap === null ? "" : ` of ${watts(cap)}`}`;
  return `${fleet.names[slot] ?? ""}: ${fleet.classOf(slot)}, ${drawn}, cooling stress ${percent(fleet.value("cooling", slot))}, ${pods === null ? "pods unknown" : plural(pods, "pod")}`;
};

const collator = new Intl.Collator("en", { numeric: true });

interface MapState {
  width: number;
  height: number;
  /** The pending frame; 0 if there is none. */
  drawn: number;
  /** Whether the whole map is shown, and stays so when its size changes. */
  fitted: boolean;
  readonly view: MapView;
}

/** The map: one canvas and one tab stop. Arrow keys move, Enter opens, plus and minus zoom. */
export function FleetMap() {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const state = useRef<MapState>({ width: 0, height: 0, drawn: 0, fitted: true, view: { scale: 10, x: 0, y: 0 } });
  const focus = useSignal(-1);
  const hasKeyboard = useSignal(false);
  const hover = useSignal<{ slot: number; x: number; y: number } | undefined>(undefined);
  const size = useSignal({ width: 0, height: 0 });

  /** The same nodes in the same groups keep their places, whatever their values. */
  const places = useComputed(() => {
    const { value } = groups;
    return visible.value.map((slot) => `${slot} ${groupOf(value, slot)}`).join("\n");
  });
  const layout = useComputed<MapLayout>(() => {
    const { width, height } = size.value;
    const members = new Map<string, number[]>();
    for (const line of places.value === "" ? [] : places.value.split("\n")) {
      const at = line.indexOf(" ");
      const name = line.slice(at + 1);
      const list = members.get(name);
      if (list === undefined) members.set(name, [Number(line.slice(0, at))]);
      else list.push(Number(line.slice(0, at)));
    }
    const ordered = new Map([...members].toSorted(([one], [other]) => collator.compare(one, other)));
    return layoutOf(ordered, { width: Math.max(1, width - 2 * MARGIN), height: Math.max(1, height - 2 * MARGIN) });
  });

  const fit = () => {
    const { width, height, view } = state.current;
    const { width: columns, height: rows } = layout.peek();
    const scale = Math.min(LARGEST_TILE, (width - 2 * MARGIN) / columns, (height - 2 * MARGIN) / rows);
    view.scale = Math.max(1, scale);
    view.x = -(width / view.scale - columns) / 2;
    view.y = -MARGIN / view.scale;
    state.current.fitted = true;
  };

  const draw = () => {
    state.current.drawn = 0;
    const context = canvas.current?.getContext("2d");
    const { width, height, view } = state.current;
    if (!context || width === 0) return;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawMap(context, width, height, {
      fleet,
      layout: layout.peek(),
      view,
      mode: colorMode.peek(),
      now: heard.peek().at,
      dark: isDark.peek(),
      focus: focus.peek(),
      hasKeyboard: hasKeyboard.peek(),
      selected: selected.peek(),
    });
  };
  /** At most once per frame, however often something changes. */
  const redraw = () => {
    state.current.drawn ||= requestAnimationFrame(draw);
  };

  useSignalEffect(() => {
    const { width: columns, height: rows } = layout.value;
    const { width, height } = size.value;
    // A small fleet needs less than the room for a large one.
    const needed = rows * Math.min(LARGEST_TILE, (width - 2 * MARGIN) / columns) + 2 * MARGIN;
    if (frame.current !== null && width > 0) {
      frame.current.style.height = `${Math.ceil(Math.min(height, Math.max(LEAST_HEIGHT, needed)))}px`;
      state.current.height = frame.current.clientHeight;
    }
    if (state.current.fitted) fit();
    if (focus.peek() >= layout.value.tiles.length) focus.value = -1;
    redraw();
  });
  useSignalEffect(() => {
    void [version.value, colorMode.value, isDark.value, selected.value, focus.value, hasKeyboard.value, heard.value];
    redraw();
  });

  useEffect(() => {
    const box = frame.current;
    const element = canvas.current;
    if (box === null || element === null) return undefined;
    const observer = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = box;
      Object.assign(state.current, { width, height });
      element.width = width * devicePixelRatio;
      element.height = height * devicePixelRatio;
      const room = Math.max(320, Math.min(0.56 * innerHeight, 620));
      if (size.peek().width !== width || size.peek().height !== room) size.value = { width, height: room };
      else if (state.current.fitted) fit();
      redraw();
    });
    observer.observe(box);
    const wheel = (event: WheelEvent) => {
      // Plain scrolling moves the page; with Ctrl, or by pinching, it zooms.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, []);

  const zoom = (by: number, x = state.current.width / 2, y = state.current.height / 2) => {
    const { view } = state.current;
    const scale = Math.min(LARGEST_ZOOM, Math.max(1, view.scale * by));
    view.x += x / view.scale - x / scale;
    view.y += y / view.scale - y / scale;
    view.scale = scale;
    state.current.fitted = false;
    redraw();
  };

  const tileAt = (x: number, y: number): number => {
    const { view } = state.current;
    const [tileX, tileY] = [x / view.scale + view.x, y / view.scale + view.y];
    return layout
      .peek()
      .tiles.findIndex((tile) => tileX >= tile.x && tileX < tile.x + 1 && tileY >= tile.y && tileY < tile.y + 1);
  };

  /** Keeps the focused tile on the canvas. */
  const reveal = (index: number) => {
    const tile = layout.peek().tiles[index];
    if (tile === undefined) return;
    const { view, width, height } = state.current;
    const [columns, rows] = [width / view.scale, height / view.scale];
    if (tile.x < view.x) view.x = tile.x - 1;
    if (tile.x + 1 > view.x + columns) view.x = tile.x + 2 - columns;
    if (tile.y < view.y) view.y = tile.y - 1;
    if (tile.y + 1 > view.y + rows) view.y = tile.y + 2 - rows;
  };

  const open = (index: number) => {
    const slot = layout.peek().tiles[index]?.slot;
    if (slot !== undefined) selected.value = fleet.names[slot] ?? undefined;
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const { tiles } = layout.peek();
    const direction = arrows[event.key];
    if (direction !== undefined) focus.value = neighbour(tiles, focus.peek(), direction);
    else if (event.key === "Home") focus.value = 0;
    else if (event.key === "End") focus.value = tiles.length - 1;
    else if (event.key === "Enter" || event.key === " ") open(focus.peek());
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") {
      fit();
      redraw();
    } else return;
    event.preventDefault();
    hasKeyboard.value = true;
    reveal(focus.peek());
  };

  const drag = useRef<{ x: number; y: number; moved: boolean } | undefined>(undefined);
  const onPointerDown = (event: PointerEvent) => {
    drag.current = { x: event.offsetX, y: event.offsetY, moved: false };
    canvas.current?.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent) => {
    const { view } = state.current;
    const from = drag.current;
    if (from !== undefined) {
      const [dx, dy] = [event.offsetX - from.x, event.offsetY - from.y];
      if (!from.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      view.x -= dx / view.scale;
      view.y -= dy / view.scale;
      drag.current = { x: event.offsetX, y: event.offsetY, moved: true };
      state.current.fitted = false;
      hover.value = undefined;
      redraw();
      return;
    }
    const index = tileAt(event.offsetX, event.offsetY);
    const slot = layout.peek().tiles[index]?.slot;
    if (focus.peek() !== index) focus.value = index;
    hasKeyboard.value = false;
    hover.value = slot === undefined ? undefined : { slot, x: event.offsetX, y: event.offsetY };
  };
  const onPointerUp = (event: PointerEvent) => {
    const isClick = drag.current?.moved === false;
    drag.current = undefined;
    if (isClick) open(tileAt(event.offsetX, event.offsetY));
  };

  const focusedSlot = layout.value.tiles[focus.value]?.slot;
  const count = layout.value.tiles.length;
  return (
    <div class="map">
      <div class="map-tools" role="group" aria-label="Zoom of the map">
        <button type="button" onClick={() => zoom(1.4)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => zoom(1 / 1.4)} aria-label="Zoom out">
          −
        </button>
        <button
          type="button"
          onClick={() => {
            fit();
            redraw();
          }}
        >
          Fit
        </button>
      </div>
      <div
        ref={frame}
        class="map-frame"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the map is one tab stop with its own keys
        tabIndex={0}
        role="application"
        aria-label={`Fleet map of ${plural(count, "node")}. Arrow keys move, Enter opens a node, plus and minus zoom, 0 shows all. The table shows the same data.`}
        onKeyDown={onKeyDown}
        onFocus={() => {
          if (focus.peek() < 0 && count > 0) focus.value = 0;
        }}
        onBlur={() => (hasKeyboard.value = false)}
      >
        <canvas
          ref={canvas}
          onPointerDown={onPointerDown}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerCancel={() => (drag.current = undefined)}
          onPointerLeave={() => {
            hover.value = undefined;
            if (!hasKeyboard.peek()) focus.value = -1;
          }}
        />
        {count === 0 && <p class="empty">No node matches.</p>}
        {hover.value !== undefined && (
          <div
            class="tip"
            style={{
              left: `${Math.min(hover.value.x + 14, state.current.width - 260)}px`,
              ...(hover.value.y > state.current.height / 2
                ? { bottom: `${state.current.height - hover.value.y + 10}px` }
                : { top: `${hover.value.y + 14}px` }),
            }}
          >
            {describe(hover.value.slot)}
          </div>
        )}
      </div>
      <div class="visually-hidden" aria-live="polite" data-testid="map-focus">
        {hasKeyboard.value && focusedSlot !== undefined ? describe(focusedSlot) : ""}
      </div>
    </div>
  );
}
