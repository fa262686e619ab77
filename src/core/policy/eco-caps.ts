import type { QueuedPools } from "../demand/index.ts";
import { type HardwareView, packageCapFloor } from "../inventory/index.ts";
import {
  COMPUTE_BOUND,
  type DeviceModel,
  leastEnergyClock,
  nodePowerModelOf,
  powerAt,
  restOfServerOf,
} from "../power/index.ts";
import { type Percent, percent, percentOf, type Watts } from "../units/index.ts";
import { type CapIntents, type CapSettings, capIntents, gpuMaximum, type ProfileCaps } from "./caps.ts";

/** The caps of a node under each profile; eco caps may depend on the queues. */
export type CapsOf = (hardware: HardwareView, queued: QueuedPools) => ProfileCaps;

/**
 * Without `maxSlowdown` the eco caps are the percentages of the settings. `clockShare`: the share of its run time that follows
 * the clock, of the work whose energy the caps minimise; the bound is for compute-bound work in any case.
 */
export const profileCaps = (
  settings: CapSettings,
  maxSlowdown?: Percent,
  clockShare: number = COMPUTE_BOUND,
): CapsOf => (maxSlowdown === undefined ? capIntents(settings) : boundedCaps(settings, maxSlowdown, clockShare));

/** The eco caps of a model: percent of the maximum of each device. */
interface EcoShares {
  readonly cpu: Percent;
  readonly gpu: Percent;
}

/** Clusters have few models. A table that large means that the hardware differs from node to node; it starts empty again. */
const MAX_MODELS = 1024;

/**
 * Eco caps with a bounded cost: compute-bound work at full load takes at most `maxSlowdown` percent longer, and so does all
 * other work. While pods wait for nodes of a pool, half the bound applies to it, because queued work pays twice.
 *
 * CPUs of nodes with GPUs stay uncapped: a GPU that waits for its host draws idle power for longer than the CPU saves.
 */
function boundedCaps(settings: CapSettings, maxSlowdown: Percent, clockShare: number): CapsOf {
  const calm = maxSlowdown / 100;
  const intents = new Map<string, ReturnType<typeof capIntents>>();
  const intentsFor = ({ cpu, gpu }: EcoShares, cpuWatts: Watts) => {
    const key = `${cpu} ${cpuWatts} ${gpu}`;
    let known = intents.get(key);
    if (known === undefined) {
      if (intents.size >= MAX_MODELS) intents.clear();
      known = capIntents({
        cpu: {
          ...settings.cpu,
          percent: { ...settings.cpu.percent, eco: cpu },
          watts: { ...settings.cpu.watts, eco: cpuWatts },
          onGpuNodes: false,
        },
        gpu: { ...settings.gpu, percent: { ...settings.gpu.percent, eco: gpu } },
      });
      intents.set(key, known);
    }
    return known;
  };
  const maximumOf = gpuMaximum(settings);
  const ecoAt = (hardware: HardwareView, bounds: Readonly<Record<"cpu" | "gpu", number>>): CapIntents => {
    const shares = ecoShares(hardware, bounds, maximumOf, clockShare);
    const cpu = percent(Math.min(shares.cpu, settings.cpu.percent.performance));
    const gpu = percent(Math.min(shares.gpu, settings.gpu.percent.performance));
    // Watts of an unknown maximum would be a guess, so such a package stays open.
    const isKnown = hardware.cpu.from.maxWatts !== "fallback";
    const cpuWatts = isKnown ? percentOf(cpu, hardware.cpu.maxWattsPerSocket) : settings.cpu.watts.performance;
    return intentsFor({ cpu, gpu }, cpuWatts)(hardware).eco;
  };
  const flat = capIntents(settings);
  return (hardware, queued) => ({
    performance: flat(hardware).performance,
    eco: ecoAt(hardware, { cpu: queued.cpu ? calm / 2 : calm, gpu: queued.gpu ? calm / 2 : calm }),
    ecoCeiling: ecoAt(hardware, { cpu: calm / 2, gpu: calm / 2 }),
  });
}

/** RAPL rounds a cap down by up to this much. The cap is that much higher, so that the bound still holds. */
const LIMIT_STEP = 1 / 8;

function ecoShares(
  hardware: HardwareView,
  bounds: Readonly<Record<"cpu" | "gpu", number>>,
  maximumOf: ReturnType<typeof gpuMaximum>,
  clockShare: number,
): EcoShares {
  const model = nodePowerModelOf(hardware);
  const rest = restOfServerOf(model);
  const { cpu, gpu } = hardware;
  if (gpu === undefined || model.gpu === undefined) {
    const beside = { constant: rest.idle / model.packages, slope: rest.slope };
    const cap = capAt(model.cpu, Math.max(clockWithin(bounds.cpu), leastEnergyClock(model.cpu, beside, clockShare)));
    return { cpu: shareOf(Math.max(cap, packageCapFloor(cpu)), cpu.maxWattsPerSocket), gpu: OPEN };
  }
  // All packages idle at least for as long as the boards work.
  const beside = { constant: (rest.idle + model.packages * model.cpu.idle) / model.boards, slope: rest.slope };
  const cap = capAt(model.gpu, Math.max(clockWithin(bounds.gpu), leastEnergyClock(model.gpu, beside, clockShare)));
  return { cpu: OPEN, gpu: shareOf(Math.max(cap, gpu.minWatts), maximumOf(gpu)) };
}

const OPEN = percent(100);

/** The lowest clock at which compute-bound work takes at most 1 + bound times as long. */
const clockWithin = (bound: number): number => 1 / (1 + bound);

/** No load draws more than full load, so this cap lets every load run at the clock. */
const capAt = (device: DeviceModel, clock: number): number => powerAt(device, 1, clock) + LIMIT_STEP;

/** Rounded up to a tenth, as the operator publishes it. */
const shareOf = (cap: number, max: Watts): Percent => {
  const share = Math.ceil((cap / max) * 1000) / 10;
  return share > 0 ? percent(Math.min(OPEN, share)) : OPEN;
};
