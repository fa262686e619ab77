/** Watts, or any share of them, at shares of full load: ascending in both, from load 0 to load 1. */
export type LoadPoints = readonly (readonly [load: number, power: number])[];

/** How far a load (0 idle, 1 full) takes a device from idle (0) to full power (1). Never falls as load rises. */
export type LoadShape = (load: number) => number;

/**
 * The shape of published load points, whatever machine they were read on: idle and full power come from the device at
 * hand, what lies between them from the points. Linear between two points, as SPECpower's own graphs are.
 */
export function loadShape(points: LoadPoints): LoadShape {
  const loads = Float64Array.from(points, ([load]) => load);
  const powers = Float64Array.from(points, ([, power]) => power);
  const last = points.length - 1;
  const idle = powers[0] ?? 0;
  const range = (powers[last] ?? 0) - idle;
  if (!(range > 0)) return clampedLoad;
  const at = (index: number): number => ((powers[index] ?? 0) - idle) / range;
  return (load) => {
    // A load that is no number is no load.
    if (!(load > 0)) return 0;
    let next = 1;
    while (next < last && (loads[next] ?? 1) < load) next++;
    const from = loads[next - 1] ?? 0;
    const to = loads[next] ?? 1;
    if (load >= to) return at(next);
    return at(next - 1) + ((at(next) - at(next - 1)) * (load - from)) / (to - from);
  };
}

/** Power that rises in a straight line: what is taken where nobody published points. */
export const clampedLoad: LoadShape = (load) => (load > 0 ? Math.min(1, load) : 0);
