import type { GpuHardware, GpuVendor, NodeHardwareStatus } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import { BUILTIN_GPUS, FALLBACK_GPU_IDLE_SHARE, fallbackGpuWatts } from "./builtin.ts";
import type { Catalogue } from "./catalogue.ts";
import { type GpuEntry, plausibleBoardWatts } from "./catalogue-entry.ts";
import { boardsOf, partsPerBoard } from "./gpu-devices.ts";
import type { NodeIdentity } from "./identity.ts";
import { firstKnown, type Origin, type Resolution, resolve, usable, vendorOf } from "./resolution.ts";

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
  readonly from: { readonly maxWatts?: Origin; readonly minWatts?: Origin };
}

export function gpuView(
  identity: NodeIdentity["gpu"],
  discovered: NodeHardwareStatus | undefined,
  catalogue: Catalogue,
): GpuView | undefined {
  const { boards, devices } = identity;
  if (boards === 0) return undefined;
  const { resolution, entry } = resolve("gpu", identity.names, discovered, catalogue.gpu);
  const count = boards ?? (devices && boardsOf(devices, entry));
  if (count === undefined) return undefined;
  const vendor = vendorOf(identity.vendor, entry?.vendor);
  const parts = partsPerBoard(devices, entry);
  return {
    ...resolution,
    ...(vendor !== undefined && { vendor }),
    count,
    ...(parts > 1 && { devicesPerBoard: parts }),
    ...boardLimits(discovered?.gpu, entry, vendor),
    perf: entry?.perf ?? slowestPerf,
    ...(entry && { plausibleWatts: plausibleBoardWatts(entry) }),
  };
}

/** An unknown board counts like the slowest known one, so that more boards still give a higher density. */
const slowestPerf = Math.min(...BUILTIN_GPUS.map((entry) => entry.perf));

function boardLimits(gpu: GpuHardware | undefined, entry: GpuEntry | undefined, vendor: GpuVendor | undefined) {
  const range = gpu?.capRangePerGpu;
  const max = firstKnown(usable(range?.maxWatts), entry?.maxWatts, fallbackGpuWatts(vendor));
  const min = firstKnown(usable(range?.minWatts), entry?.minWatts, watts(0));
  const normal = usable(range?.defaultWatts) ?? entry?.defaultWatts ?? max.value;
  const idle = entry?.idleWatts ?? max.value * FALLBACK_GPU_IDLE_SHARE;
  const atMost = (value: number): Watts => watts(Math.min(value, max.value));
  const minWatts = atMost(min.value);
  return {
    maxWatts: max.value,
    minWatts,
    defaultWatts: watts(Math.max(minWatts, atMost(normal))),
    idleWatts: atMost(idle),
    from: { maxWatts: max.from, minWatts: min.from },
  };
}
