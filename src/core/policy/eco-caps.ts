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
import { type Percent, percent, percentOf, type Watts, watts } from "../units/index.ts";
import type { CapLimit, ProfileLimits } from "./cap-limits.ts";
import { type CapFigures, type CapIntents, type CapSettings, capIntents, capWriter, gpuMaximum } from "./caps.ts";

/** The limits of a node under each profile; those of eco may depend on the queues. */
export type LimitsOf = (hardware: HardwareView, queued: QueuedPools) => ProfileLimits;

/**
 * Without `maxSlowdown` the eco caps are the percentages of the settings. `clockShare`: the share of its run time that follows
 * the clock, of the work whose energy the caps minimise; the bound is for compute-bound work in any case.
 */
export function capLimits(settings: CapSettings, maxSlowdown?: Percent, clockShare: number = COMPUTE_BOUND): LimitsOf {
  const capsOf = capIntents(settings);
  const limit = (caps: CapIntents): CapLimit => ({ name: "profile", caps });
  if (maxSlowdown === undefined) {
    return (hardware) => {
      const { performance, eco } = capsOf(hardware);
      return { performance: [limit(performance)], eco: [limit(eco)] };
    };
  }
  const slowdownOf = slowdownLimit(settings, maxSlowdown, clockShare);
  const openHosts = capIntents({ ...settings, cpu: { ...settings.cpu, onGpuNodes: false } });
  return (hardware, queued) => ({
    performance: [limit(capsOf(hardware).performance)],
    eco: [limit(openHosts(hardware).performance), slowdownOf(hardware, queued)],
  });
}

/**
 * Eco caps with a bounded cost: compute-bound work at full load takes at most `maxSlowdown` percent longer, and so does all
 * other work. While pods wait for nodes of a pool, half the bound applies to it, because queued work pays twice.
 *
 * CPUs of nodes with GPUs stay uncapped: a GPU that waits for its host draws idle power for longer than the CPU saves.
 */
function slowdownLimit(settings: CapSettings, maxSlowdown: Percent, clockShare: number) {
  const calm = maxSlowdown / 100;
  const write = capWriter(settings);
  const maximumOf = gpuMaximum(settings);
  return (hardware: HardwareView, queued: QueuedPools): CapLimit => {
    const bounds = {
      cpu: queued.cpu ? calm / 2 : calm,
      gpu: queued.gpu ? calm / 2 : calm,
    };
    return { name: "slowdown", caps: write(hardware, ecoFigures(hardware, bounds, maximumOf, clockShare)) };
  };
}

/** RAPL rounds a cap down by up to this much. The cap is that much higher, so that the bound still holds. */
const LIMIT_STEP = 1 / 8;

function ecoFigures(
  hardware: HardwareView,
  bounds: Readonly<Record<"cpu" | "gpu", number>>,
  maximumOf: ReturnType<typeof gpuMaximum>,
  clockShare: number,
): CapFigures {
  const model = nodePowerModelOf(hardware);
  const rest = restOfServerOf(model);
  const { cpu, gpu } = hardware;
  if (gpu === undefined || model.gpu === undefined) {
    const beside = { constant: rest.idle / model.packages, slope: rest.slope };
    const cap = capAt(model.cpu, Math.max(clockWithin(bounds.cpu), leastEnergyClock(model.cpu, beside, clockShare)));
    const share = shareOf(Math.max(cap, packageCapFloor(cpu)), cpu.maxWattsPerSocket);
    // Watts of an unknown maximum would be a guess, so such a package stays open.
    const isKnown = cpu.from.maxWatts !== "fallback";
    const capWatts = isKnown ? percentOf(share, cpu.maxWattsPerSocket) : watts(Infinity);
    return { cpu: { percent: share, watts: capWatts }, gpu: OPEN };
  }
  // All packages idle at least for as long as the boards work.
  const beside = { constant: (rest.idle + model.packages * model.cpu.idle) / model.boards, slope: rest.slope };
  const cap = capAt(model.gpu, Math.max(clockWithin(bounds.gpu), leastEnergyClock(model.gpu, beside, clockShare)));
  return { cpu: undefined, gpu: shareOf(Math.max(cap, gpu.minWatts), maximumOf(gpu)) };
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
