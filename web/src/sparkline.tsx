import type { NodeAnswer } from "../../src/programs/dashboard/wire.ts";
import { clock, watts } from "./format.ts";

const WIDTH = 360;
const HEIGHT = 72;

/** Power and cap of one node. */
export function Sparkline({ history }: { history: NodeAnswer["history"] }) {
  const { at, power, cap } = history;
  const [first, last] = [at[0], at.at(-1)];
  if (first === undefined || last === undefined || at.length < 2)
    return <p class="empty">The history of this node begins now.</p>;
  const known = power.filter((value) => value !== null);
  if (known.length === 0) return <p class="empty">No reading of this node.</p>;
  const caps = cap.filter((value) => value !== null);
  const highest = Math.max(1, ...known, ...caps);
  const pathOf = (values: readonly (number | null)[]): string => {
    let isOpen = false;
    return at
      .map((time, index) => {
        const value = values[index] ?? null;
        if (value === null) {
          isOpen = false;
          return "";
        }
        const x = ((time - first) / Math.max(1, last - first)) * WIDTH;
        const step = `${isOpen ? "L" : "M"}${x.toFixed(1)} ${(HEIGHT - (value / highest) * (HEIGHT - 4)).toFixed(1)}`;
        isOpen = true;
        return step;
      })
      .join("");
  };
  const capText = caps.length === 0 ? "no cap known" : `cap at most ${watts(Math.max(...caps))}`;
  const label = `Power from ${clock(first)} to ${clock(last)}: ${watts(Math.min(...known))} to ${watts(Math.max(...known))}; ${capText}.`;
  return (
    <figure class="spark">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label} preserveAspectRatio="none">
        <path d={pathOf(cap)} class="spark-cap" />
        <path d={pathOf(power)} class="spark-power" />
      </svg>
      <figcaption>
        {clock(first)} – {clock(last)}, up to {watts(highest)}; dashed: cap
      </figcaption>
    </figure>
  );
}
