import type { CpuCap, GpuPowerCap, NodePowerProfileSpec, NodeTwinSpec, Profile } from "../api/index.ts";
import { percent, percentOf, type Watts, watts } from "../units/index.ts";
import type { CapHardware, CapIntents } from "./caps.ts";

/** What may limit the caps of a node. NodeTwin publishes the name of the lowest limit as the reason for a cap. */
type LimitName = "profile" | "slowdown" | "pin";

/** The caps that one limit allows. A device without a cap is not limited by it. */
export interface CapLimit {
  readonly name: LimitName;
  readonly caps: CapIntents;
}

export type ProfileLimits = Readonly<Record<Profile, readonly CapLimit[]>>;

/** The caps of a node under each profile, as NodeTwin publishes them. */
export type ProfileCaps = Readonly<Record<Profile, PublishedCaps>>;
type PublishedCaps = CapIntents & Required<Pick<NodeTwinSpec, "caps">>;

/** The caps of a node: for each device the lowest of its limits. */
export function profileCaps(
  limits: ProfileLimits,
  pin: NodePowerProfileSpec | undefined,
  hardware: CapHardware,
): ProfileCaps {
  const capsUnder = (profile: Profile) => lowestCaps(profile, limitsUnder(profile, limits, pin), hardware);
  return { performance: capsUnder("performance"), eco: capsUnder("eco") };
}

/**
 * The limits under a profile. The caps of a pin replace those of the pinned profile, and may be higher; a pin without any cap
 * sets only the profile. The other profile keeps its limits, for a node that is still changing to the pinned one.
 */
function limitsUnder(
  profile: Profile,
  limits: ProfileLimits,
  pin: NodePowerProfileSpec | undefined,
): readonly CapLimit[] {
  const hasCaps = pin?.cpu !== undefined || pin?.gpu?.powerCap !== undefined;
  if (pin?.profile !== profile || !hasCaps) return limits[profile];
  return [{ name: "pin", caps: pin }];
}

/** Of two equal limits the first one counts. */
function lowestCaps(profile: Profile, limits: readonly CapLimit[], hardware: CapHardware): PublishedCaps {
  const cpu = lowest(limits, ({ cpu: cap }) => cap && cpuWatts(cap, hardware));
  const gpu = lowest(limits, ({ gpu: device }) => device?.powerCap && gpuWatts(device.powerCap, hardware));
  return {
    ...(cpu && { cpu: cpu.caps.cpu }),
    ...(gpu && { gpu: gpu.caps.gpu }),
    caps: { profile, ...(cpu && { cpu: cpu.name }), ...(gpu && { gpu: gpu.name }) },
  };
}

function lowest(limits: readonly CapLimit[], wattsOf: (caps: CapIntents) => Watts | undefined): CapLimit | undefined {
  let lowestLimit: CapLimit | undefined;
  let lowestWatts: number | undefined;
  for (const limit of limits) {
    const allowed = wattsOf(limit.caps);
    if (allowed === undefined) continue;
    if (lowestWatts !== undefined && allowed >= lowestWatts) continue;
    lowestLimit = limit;
    lowestWatts = allowed;
  }
  return lowestLimit;
}

const OPEN = percent(100);
/** The maximum of a device that is not known. */
const UNKNOWN = watts(Infinity);

/** Watts take precedence over a percentage, as in the agent. */
const cpuWatts = (cap: CpuCap, { cpu }: CapHardware): Watts =>
  cap.packagePowerCapWatts ?? percentOf(cap.packagePowerCapPctOfMax ?? OPEN, cpu.maxWattsPerSocket);
const gpuWatts = (cap: GpuPowerCap, { gpu }: CapHardware): Watts =>
  cap.capWattsPerGpu ?? percentOf(cap.capPctOfMax ?? OPEN, gpu?.maxWatts ?? UNKNOWN);
