import { formatWatts, isPositive, type Watts, wattsFromMilliwatts } from "../../../core/units/index.ts";
import { type GpuCapBoard, rangeWarnings } from "../gpu/gpu-board.ts";
import { isMissingFeature } from "./nvml-codes.ts";
import type { NvmlHandle } from "./nvml-functions.ts";
import type { NvmlCaller } from "./nvml-session.ts";

/** All that one board says about itself. Rejects where it is lost; a feature that it lacks is only missing. */
export async function describeBoard(call: NvmlCaller, id: string, handle: NvmlHandle): Promise<GpuCapBoard> {
  const [model] = await orUnsupported(call(id, "name", handle));
  const [min, max] = await orUnsupported(call(id, "constraints", handle));
  const [limit] = await orUnsupported(call(id, "limit", handle));
  const [defaultLimit] = await orUnsupported(call(id, "defaultLimit", handle));
  const [enforced] = await orUnsupported(call(id, "enforcedLimit", handle));
  const [mig] = await orUnsupported(call(id, "migMode", handle));
  const [persistence] = await orUnsupported(call(id, "persistenceMode", handle));
  const range = { min: figure(min), max: figure(max) };
  const locked = limit === undefined ? "it has no power limit to set: NVML says not supported" : undefined;
  const warnings = [
    ...rangeWarnings(range),
    ...(isPositive(limit) && isPositive(enforced) && enforced < limit ? [lowerElsewhere(enforced, limit)] : []),
    ...(mig === 1 ? [MIG_ON] : []),
    ...(persistence === 0 && locked === undefined ? [NO_PERSISTENCE] : []),
  ];
  return {
    id,
    vendor: "nvidia",
    model,
    // NVML takes milliwatts, and boards round them: whole watts are what every one of them keeps.
    device: { ...range, step: WHOLE_WATTS },
    defaultLimit: figure(defaultLimit),
    ...(mig === undefined ? {} : { slicing: ["mig"] }),
    ...(locked === undefined ? {} : { locked }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

const WHOLE_WATTS = wattsFromMilliwatts(1000);
const MIG_ON = "MIG is on: power and its limit are those of the whole board, not of a slice";
const NO_PERSISTENCE =
  "persistence mode is off: once the last program closes the GPU its limit is back at the default; run nvidia-persistenced";

const lowerElsewhere = (enforced: number, limit: number): string =>
  `enforced ${formatWatts(wattsFromMilliwatts(enforced))}, below its limit of ${formatWatts(wattsFromMilliwatts(limit))}: a lower one is set out of band (BMC) or by the VBIOS`;

/** A figure of power that can be one; NVML says 0 where it knows none. */
const figure = (milliwatts: number | undefined): Watts | undefined =>
  isPositive(milliwatts) ? wattsFromMilliwatts(milliwatts) : undefined;

/** The results of a call whose feature may be missing: none of them then. */
export async function orUnsupported<Results extends readonly unknown[]>(
  call: Promise<Results>,
): Promise<Results | { readonly [place in keyof Results]: undefined }> {
  try {
    return await call;
  } catch (error) {
    if (!isMissingFeature(error)) throw error;
    return [] as unknown as { readonly [place in keyof Results]: undefined };
  }
}
