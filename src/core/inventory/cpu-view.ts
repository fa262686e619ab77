import type { NodeHardwareStatus } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import { FALLBACK_BASE_GHZ, FALLBACK_CPU_IDLE_SHARE, fallbackCpuWatts } from "./builtin.ts";
import type { Catalogue } from "./catalogue.ts";
import { type CpuEntry, catalogueSocketWatts, plausibleSocketWatts } from "./catalogue-entry.ts";
import type { NodeIdentity } from "./identity.ts";
import { firstKnown, type Origin, type Resolution, resolve, usable, vendorOf } from "./resolution.ts";

export interface CpuView extends Resolution {
  readonly vendor?: string;
  readonly sockets: number;
  /** Nothing says how many sockets there are. */
  readonly areSocketsAssumed?: true;
  readonly coresPerSocket?: number;
  readonly totalCores?: number;
  /** Hardware threads: the CPUs that Kubernetes counts. */
  readonly logicalCpus?: number;
  readonly baseGHz: number;
  /** The highest cap. */
  readonly maxWattsPerSocket: Watts;
  /** The lowest cap that the device exposes. The catalogue's minimum is a setting of the BIOS, and no lower bound. */
  readonly minWattsPerSocket?: Watts;
  /** Of all sockets. */
  readonly maxWatts: Watts;
  /** All sockets at full load without a cap. Where the BIOS can configure more than the TDP, its default is the TDP. */
  readonly defaultWatts: Watts;
  readonly idleWatts: Watts;
  /** The highest plausible maximum of a socket, applied to discovered values; absent if the catalogue does not know the model. */
  readonly plausibleWattsPerSocket?: Watts;
  readonly from: { readonly maxWatts?: Origin };
}

/** Without a socket count: as many sockets as the threads that Kubernetes reports fill. Part of a socket (a VM) is one. */
const socketsFor = (entry: CpuEntry | undefined, threads: number | undefined): number | undefined =>
  entry && threads !== undefined
    ? Math.max(1, Math.round(threads / (entry.coresPerSocket * entry.threadsPerCore)))
    : undefined;

/**
 * Kubernetes counts threads. Without a core count, assume the fewest cores that provide these threads, so that a node whose
 * agent has not reported yet never ranks higher than the same node after its report.
 */
function coresOf(cpu: NodeIdentity["cpu"], entry: CpuEntry | undefined, sockets: number): number | undefined {
  if (cpu.totalCores !== undefined) return cpu.totalCores;
  if (cpu.coresPerSocket !== undefined) return cpu.coresPerSocket * sockets;
  const listed = entry && entry.coresPerSocket * sockets;
  const threadsPerCore = entry?.threadsPerCore ?? cpu.likelyThreadsPerCore;
  const needed = cpu.logicalCpus === undefined ? undefined : Math.ceil(cpu.logicalCpus / threadsPerCore);
  // A virtual machine has only a part of its socket.
  return listed !== undefined && needed !== undefined ? Math.min(listed, needed) : (listed ?? needed);
}

export function cpuView(
  identity: NodeIdentity["cpu"],
  discovered: NodeHardwareStatus | undefined,
  catalogue: Catalogue,
): CpuView {
  const { resolution, entry } = resolve("cpu", identity.names, discovered, catalogue.cpu);
  const vendor = vendorOf(identity.vendor, entry?.vendor);
  const knownSockets = identity.sockets ?? socketsFor(entry, identity.logicalCpus);
  const sockets = knownSockets ?? 1;
  const totalCores = coresOf(identity, entry, sockets);
  const coresPerSocket = identity.coresPerSocket ?? (totalCores && totalCores / sockets);
  const nominalMHz = usable(discovered?.cpu?.landmarks?.nominalFreqMHz);
  const capRange = discovered?.cpu?.capRange;
  // As published: the agent has already validated the firmware's values (discover-hardware.ts).
  const max = firstKnown(
    usable(capRange?.maxWattsPerSocket),
    entry && catalogueSocketWatts(entry, resolution.match),
    watts(fallbackCpuWatts(totalCores) / sockets),
  );
  const min = usable(capRange?.minWattsPerSocket);
  const idleShare = entry?.curve?.[0]?.[1] ?? FALLBACK_CPU_IDLE_SHARE;
  const isConfigurable = resolution.match === "exact" && entry?.maxWatts !== undefined;
  const defaultWatts = watts(sockets * (isConfigurable ? Math.min(max.value, entry.tdpWatts) : max.value));
  return {
    ...resolution,
    ...(vendor !== undefined && { vendor }),
    sockets,
    ...(knownSockets === undefined && { areSocketsAssumed: true }),
    ...(coresPerSocket !== undefined && { coresPerSocket }),
    ...(totalCores !== undefined && { totalCores }),
    ...(identity.logicalCpus !== undefined && { logicalCpus: identity.logicalCpus }),
    baseGHz: (nominalMHz && nominalMHz / 1000) ?? entry?.baseGHz ?? FALLBACK_BASE_GHZ,
    maxWattsPerSocket: max.value,
    ...(min !== undefined && { minWattsPerSocket: watts(Math.min(min, max.value)) }),
    maxWatts: watts(max.value * sockets),
    defaultWatts,
    idleWatts: watts(defaultWatts * idleShare),
    ...(entry && { plausibleWattsPerSocket: plausibleSocketWatts(entry, resolution.match) }),
    from: { maxWatts: max.from },
  };
}
