/** Power, in watts or any other unit, by share of full load: ascending in both, from load 0 to load 1. */
export type LoadPoints = readonly (readonly [load: number, power: number])[];

/** Maps a load (0 idle, 1 full) to a position between idle power (0) and full power (1). Never decreases. */
export type LoadShape = (load: number) => number;

/**
 * The shape of published load points, independent of the measured machine. Idle and full power come from the simulated
 * device, the curve between them from the points. Linear between two points, as in SPECpower's graphs.
 */
export function loadShape(points: LoadPoints): LoadShape {
  const loads = Float64Array.from(points, ([load]) => load);
  const powers = Float64Array.from(points, ([, power]) => power);
  const last = points.length - 1;
  const idle = powers[0] ?? 0;
  const range = (powers[last] ?? 0) - idle;
  if (!(range > 0)) return clampedLoad;
  const heights = powers.map((power) => (power - idle) / range);
  return (load) => {
    // A load of NaN counts as 0.
    if (!(load > 0)) return 0;
    let next = 1;
    while (next < last && (loads[next] as number) < load) next++;
    const from = loads[next - 1] as number;
    const to = loads[next] as number;
    const low = heights[next - 1] as number;
    const high = heights[next] as number;
    return load >= to ? high : low + ((high - low) * (load - from)) / (to - from);
  };
}

/** Linear power, used if no load points are published. */
export const clampedLoad: LoadShape = (load) => (load > 0 ? Math.min(1, load) : 0);
