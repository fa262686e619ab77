/** The range of an axis and the values it marks. */
export interface Axis {
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

export interface Chart {
  readonly x: Axis;
  readonly y: Axis;
  /** Draws the data with functions from values to pixels. */
  readonly draw: (x: (value: number) => number, y: (value: number) => number) => string;
}

const WIDTH = 720;
const HEIGHT = 320;
const MARGIN = { left: 64, right: 28, top: 12, bottom: 48 };

/** Text that cannot be taken for markup. */
export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** One decimal of a pixel is enough, and keeps the file small. */
export const pixel = (value: number): string => (Number.isFinite(value) ? String(Math.round(value * 10) / 10) : "0");

/** A chart as an SVG element: axes, grid and data. */
export function svgChart({ x, y, draw }: Chart): string {
  const right = WIDTH - MARGIN.right;
  const bottom = HEIGHT - MARGIN.bottom;
  const toX = scaleOf(x, MARGIN.left, right);
  const toY = scaleOf(y, bottom, MARGIN.top);
  const columns = x.ticks.map(
    ({ at, text }) =>
      `<line class="grid" x1="${pixel(toX(at))}" x2="${pixel(toX(at))}" y1="${MARGIN.top}" y2="${bottom}"/>` +
      `<text x="${pixel(toX(at))}" y="${bottom + 16}" text-anchor="middle">${escaped(text)}</text>`,
  );
  const rows = y.ticks.map(
    ({ at, text }) =>
      `<line class="grid" x1="${MARGIN.left}" x2="${right}" y1="${pixel(toY(at))}" y2="${pixel(toY(at))}"/>` +
      `<text x="${MARGIN.left - 6}" y="${pixel(toY(at) + 4)}" text-anchor="end">${escaped(text)}</text>`,
  );
  const middle = (MARGIN.top + bottom) / 2;
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">`,
    ...columns,
    ...rows,
    `<text x="${(MARGIN.left + right) / 2}" y="${HEIGHT - 8}" text-anchor="middle">${escaped(x.label)}</text>`,
    `<text x="14" y="${middle}" text-anchor="middle" transform="rotate(-90 14 ${middle})">${escaped(y.label)}</text>`,
    draw(toX, toY),
    "</svg>",
  ].join("\n");
}

/** Maps the range of an axis to pixels; an empty range to the middle. */
function scaleOf({ min, max }: Axis, from: number, to: number): (value: number) => number {
  return (value) => (max > min ? from + ((value - min) / (max - min)) * (to - from) : (from + to) / 2);
}

/** About `count` round values that cover a range. */
export function linearAxis(label: string, min: number, max: number, count = 6): Axis {
  const low = Number.isFinite(min) ? min : 0;
  const high = Number.isFinite(max) && max > low ? max : low + 1;
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => {
    const at = (first + index) * step;
    return { at, text: at.toFixed(digits) };
  });
  return { label, min: first * step, max: last * step, ticks };
}

export const line = (points: readonly (readonly [number, number])[], colour: string): string =>
  `<polyline fill="none" stroke="${colour}" stroke-width="1.5" points="${points
    .map(([x, y]) => `${pixel(x)},${pixel(y)}`)
    .join(" ")}"/>`;
