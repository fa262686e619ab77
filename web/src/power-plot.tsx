import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { watts } from "./format.ts";
import { cluster, history, hours, isDark, totals } from "./store.ts";

const ranges = [
  [1, "1 h"],
  [6, "6 h"],
  [24, "24 h"],
  [168, "7 d"],
  [720, "30 d"],
] as const;

const HEIGHT = 200;
const colors = {
  light: { power: "#0072b2", cap: "#00805c", capacity: "#6b7680", model: "#b35900", grid: "#e3e7ea", ink: "#4a545e" },
  dark: { power: "#4aa8e8", cap: "#2bb98f", capacity: "#8b97a3", model: "#e69f4d", grid: "#2b333b", ink: "#a9b4bf" },
} as const;

/** The power of the cluster over time, against its caps, its capacity and the model. */
export function PowerPlot() {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);

  const draw = () => {
    const box = place.current;
    const data = history.peek();
    if (box === null || data === undefined) return;
    plot.current?.destroy();
    plot.current = new uPlot(optionsOf(box.clientWidth, isDark.peek()), columnsOf(data), box);
  };
  // A new plot for a new theme, else only new data.
  useSignalEffect(() => {
    void isDark.value;
    draw();
  });
  useSignalEffect(() => {
    const data = history.value;
    if (data === undefined) return;
    if (plot.current === undefined) draw();
    else plot.current.setData(columnsOf(data));
  });
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      plot.current?.setSize({ width: Math.floor(entry?.contentRect.width ?? 600), height: HEIGHT });
    });
    if (place.current !== null) observer.observe(place.current);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
    };
  }, []);

  const now = totals.value;
  const summary =
    now === undefined
      ? "Power over time; no data yet."
      : `Power over time. Now ${watts(now.power)} drawn, ${watts(now.cap)} allowed by caps, ${watts(now.capacity)} capacity, ${watts(now.counterfactual)} by the model without Joulie.`;
  return (
    <section class="panel plot" aria-labelledby="power-title">
      <header>
        <h2 id="power-title">Power</h2>
        <div class="segmented" role="group" aria-label="Time range">
          {ranges
            .filter(([length]) => length <= cluster.value.historyHours)
            .map(([length, name]) => (
              <button
                key={length}
                type="button"
                aria-pressed={hours.value === length}
                onClick={() => (hours.value = length)}
              >
                {name}
              </button>
            ))}
        </div>
      </header>
      <ul class="plot-legend">
        <li class="key-power">Drawn {watts(now?.power)}</li>
        <li class="key-cap">Allowed by caps {watts(now?.cap)}</li>
        <li class="key-capacity">Capacity, uncapped {watts(now?.capacity)}</li>
        <li class="key-model">Model: same pods, no caps, all nodes on {watts(now?.counterfactual)}</li>
      </ul>
      <div class="plot-place" ref={place} role="img" aria-label={summary} />
      {history.value?.note !== undefined && <p class="note">{history.value.note}</p>}
      {history.value !== undefined && history.value.at.length < 2 && (
        <p class="note">The history begins now; the curve grows with the next samples.</p>
      )}
    </section>
  );
}

function columnsOf(data: NonNullable<typeof history.value>): uPlot.AlignedData {
  return [data.at.map((at) => at / 1000), [...data.power], [...data.cap], [...data.capacity], [...data.counterfactual]];
}

function optionsOf(width: number, dark: boolean): uPlot.Options {
  const color = colors[dark ? "dark" : "light"];
  const axis = { stroke: color.ink, grid: { stroke: color.grid, width: 1 }, ticks: { stroke: color.grid, width: 1 } };
  return {
    width: Math.max(200, Math.floor(width)),
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    scales: { y: { range: (_, __, high) => [0, (high || 1) * 1.08] } },
    axes: [
      {
        ...axis,
        size: 32,
        values: [
          [3600 * 24, "{MMM} {D}", null, null, null, null, null, null, 1],
          [60, "{HH}:{mm}", null, null, null, null, null, null, 1],
          [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1],
        ],
      },
      { ...axis, size: 74, values: (_, splits) => splits.map((value) => watts(value)) },
    ],
    series: [
      {},
      { label: "Drawn", stroke: color.power, width: 2, fill: `${color.power}22`, points: { show: false } },
      { label: "Allowed by caps", stroke: color.cap, width: 1.5, points: { show: false } },
      { label: "Capacity", stroke: color.capacity, width: 1.5, dash: [2, 3], points: { show: false } },
      { label: "Model without Joulie", stroke: color.model, width: 1.5, dash: [7, 4], points: { show: false } },
    ],
  };
}
