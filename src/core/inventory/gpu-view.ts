import type { GpuHardware, GpuVendor, NodeHardwareStatus } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import { BUILTIN_GPUS, FALLBACK_GPU_IDLE_SHARE, fallbackGpuWatts } from "./builtin.ts";
import { plausibleBoardWatts } from "./cap-floor.ts";
import type { Catalogue } from "./catalogue.ts";
import type { GpuEntry } from "./entry.ts";
import { boardsOf, partsPerBoard } from "./gpu-devices.ts";
import type { NodeIdentity } from "./identity.ts";
import { claim, type Origins, origins, type Resolution, resolve, usable, vendorOf } from "./resolution.ts";

/** All watts are per board. */
export interface GpuView extends Resolution {
  readonly vendor?: GpuVendor;
  /** Number of boards: the units that are capped and draw power. */
  readonly count: number;
  /** Devices that Kubernetes allocates per board, if dies or partitions are GPUs of their own. */
  readonly devicesPerBoard?: number;
  readonly maxWatts: Watts;
  readonly minWatts: Watts;
  readonly defaultWatts: Watts;
  readonly idleWatts: Watts;
  /** Dense FP16 TFLOPS of one board. */
  readonly perf: number;
  /** The highest plausible maximum of a board, applied to discovered values; absent if the catalogue does not know the model. */
  readonly plausibleWatts?: Watts;
  readonly from: Origins<
    "model" | "vendor" | "count" | "maxWatts" | "minWatts" | "defaultWatts" | "idleWatts" | "perf"
  >;
}

export function gpuView(
  identity: NodeIdentity["gpu"],
  discovered: NodeHardwareStatus | undefined,
  catalogue: Catalogue,
): GpuView | undefined {
  const { boards, devices } = identity;
  if (boards?.value === 0) return undefined;
  const { resolution, entry } = resolve("gpu", identity.names, discovered, catalogue.gpu);
  const count = boards ?? (devices && claim(boardsOf(devices.value, entry), devices.from));
  if (count === undefined) return undefined;
  const vendor = vendorOf(identity.vendor, entry?.vendor);
  const parts = partsPerBoard(devices?.value, entry);
  const { limits, from } = boardLimits(discovered?.gpu, entry, vendor?.value);
  const perf = claim(entry?.perf, "catalogue") ?? { value: slowestPerf, from: "fallback" as const };
  return {
    ...resolution,
    ...(vendor ? { vendor: vendor.value } : {}),
    count: count.value,
    ...(parts > 1 ? { devicesPerBoard: parts } : {}),
    ...limits,
    perf: perf.value,
    ...(entry ? { plausibleWatts: plausibleBoardWatts(entry) } : {}),
    from: { ...origins({ model: identity.names, vendor, count, perf }), ...from },
  };
}

/** An unknown board counts like the slowest known one, so that more boards still give a higher density. */
const slowestPerf = Math.min(...BUILTIN_GPUS.map((entry) => entry.perf));

function boardLimits(gpu: GpuHardware | undefined, entry: GpuEntry | undefined, vendor: GpuVendor | undefined) {
  const range = gpu?.capRangePerGpu;
  const max = claim(usable(range?.maxWatts), "discovered") ??
    claim(entry?.maxWatts, "catalogue") ?? {
      value: fallbackGpuWatts(vendor),
      from: "fallback" as const,
    };
  const normal = claim(usable(range?.defaultWatts), "discovered") ?? claim(entry?.defaultWatts, "catalogue") ?? max;
  const min = claim(usable(range?.minWatts), "discovered") ??
    claim(entry?.minWatts, "catalogue") ?? {
      value: watts(0),
      from: "fallback" as const,
    };
  const idle = claim(entry?.idleWatts, "catalogue") ?? {
    value: watts(max.value * FALLBACK_GPU_IDLE_SHARE),
    from: "fallback" as const,
  };
  const atMost = (value: Watts): Watts => watts(Math.min(value, max.value));
  const minWatts = atMost(min.value);
  return {
    limits: {
      maxWatts: max.value,
      minWatts,
      defaultWatts: watts(Math.max(minWatts, atMost(normal.value))),
      idleWatts: atMost(idle.value),
    },
    from: { maxWatts: max.from, minWatts: min.from, defaultWatts: normal.from, idleWatts: idle.from },
  };
}
