import type { HardwareView } from "../../../core/inventory/index.ts";
import { type RandomSource, type Watts, watts } from "../../../core/units/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";

/** The hardware as decisions see it: all nodes of one kind are misjudged alike. */
export function misjudgedBy(error: number, seed: number): (hardware: HardwareView) => HardwareView {
  // A stream of its own: the jobs and ties of a seed stay the same.
  const random = seededRandom(seed + 0.125);
  const seen = new Map<HardwareView, HardwareView>();
  return (hardware) => {
    let view = seen.get(hardware);
    if (view === undefined) seen.set(hardware, (view = error > 0 ? misjudged(hardware, error, random) : hardware));
    return view;
  };
}

/** Distorts watts as decisions see them: each idle and full power is off by a random factor from 1 − error to 1 + error. */
function misjudged({ cpu, gpu, ...rest }: HardwareView, error: number, random: RandomSource): HardwareView {
  const factor = (): number => 1 + error * (2 * random.next() - 1);
  const [cpuFull, cpuIdle, gpuFull, gpuIdle] = [factor(), factor(), factor(), factor()];
  const scaled = (power: Watts, by: number): Watts => watts(power * by);
  return {
    ...rest,
    cpu: {
      ...cpu,
      maxWatts: scaled(cpu.maxWatts, cpuFull),
      maxWattsPerSocket: scaled(cpu.maxWattsPerSocket, cpuFull),
      idleWatts: scaled(cpu.idleWatts, cpuIdle),
    },
    ...(gpu && {
      gpu: {
        ...gpu,
        maxWatts: scaled(gpu.maxWatts, gpuFull),
        defaultWatts: scaled(gpu.defaultWatts, gpuFull),
        idleWatts: scaled(gpu.idleWatts, gpuIdle),
      },
    }),
  };
}
