import type { NodeHardwareStatus } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import { FALLBACK_BASE_GHZ, FALLBACK_CPU_IDLE_SHARE, fallbackCpuWatts } from "./builtin.ts";
import { plausibleSocketWatts } from "./cap-floor.ts";
import type { CpuEntry, LoadCurve } from "./catalogue/entry.ts";
import type { Catalogue } from "./catalogue.ts";
import type { NodeIdentity } from "./identity.ts";
import {
  claim,
  type Origins,
  origins,
  type Resolution,
  resolve,
  usable,
  vendorOf,
  type WithOrigin,
} from "./resolution.ts";

export interface CpuView extends Resolution {
  readonly vendor?: string;
  readonly sockets: number;
  readonly coresPerSocket?: number;
  readonly totalCores?: number;
  /** Hardware threads: the CPUs that Kubernetes counts. */
  readonly logicalCpus?: number;
  readonly baseGHz: number;
  readonly maxWattsPerSocket: Watts;
  /** The lowest cap that the device exposes. The catalogue's minimum is a setting of the BIOS, and no lower bound. */
  readonly minWattsPerSocket?: Watts;
  /** Of all sockets. */
  readonly maxWatts: Watts;
  readonly idleWatts: Watts;
  readonly curve?: LoadCurve;
  /** The highest plausible maximum of a socket, applied to discovered values; absent if the catalogue does not know the model. */
  readonly plausibleWattsPerSocket?: Watts;
  readonly from: Origins<
    "model" | "vendor" | "sockets" | "coresPerSocket" | "totalCores" | "baseGHz" | "maxWatts" | "idleWatts"
  >;
}

/** Without a socket count: as many sockets as the threads that Kubernetes reports fill. Part of a socket (a VM) is one. */
const socketsFor = (entry: CpuEntry | undefined, threads: number | undefined): number | undefined =>
  entry && threads !== undefined
    ? Math.max(1, Math.round(threads / (entry.coresPerSocket.value * entry.threadsPerCore)))
    : undefined;

/**
 * Kubernetes counts threads. Without a core count, assume the fewest cores that provide these threads, so that a node whose
 * agent has not reported yet never ranks higher than the same node after its report.
 */
function coresOf(
  cpu: NodeIdentity["cpu"],
  entry: CpuEntry | undefined,
  sockets: number,
): WithOrigin<number> | undefined {
  const listed = claim(entry && entry.coresPerSocket.value * sockets, "catalogue");
  const threads = cpu.logicalCpus?.value;
  const threadsPerCore = entry?.threadsPerCore ?? cpu.likelyThreadsPerCore;
  const needed = claim(threads === undefined ? undefined : Math.ceil(threads / threadsPerCore), "allocatable");
  return (
    cpu.totalCores ??
    (cpu.coresPerSocket && claim(cpu.coresPerSocket.value * sockets, cpu.coresPerSocket.from)) ??
    // A virtual machine has only a part of its socket.
    (listed && needed && needed.value < listed.value ? needed : (listed ?? needed))
  );
}

export function cpuView(
  identity: NodeIdentity["cpu"],
  discovered: NodeHardwareStatus | undefined,
  catalogue: Catalogue,
): CpuView {
  const { resolution, entry } = resolve("cpu", identity.names, discovered, catalogue.cpu);
  const vendor = vendorOf(identity.vendor, entry?.vendor);
  const sockets = identity.sockets ??
    claim(socketsFor(entry, identity.logicalCpus?.value), "allocatable") ?? { value: 1, from: "fallback" as const };
  const totalCores = coresOf(identity, entry, sockets.value);
  const coresPerSocket =
    identity.coresPerSocket ?? (totalCores && claim(totalCores.value / sockets.value, totalCores.from));
  const nominalMHz = usable(discovered?.cpu?.landmarks?.nominalFreqMHz);
  const baseGHz = claim(nominalMHz && nominalMHz / 1000, "discovered") ??
    claim(entry?.baseGHz.value, "catalogue") ?? { value: FALLBACK_BASE_GHZ, from: "fallback" as const };
  const capRange = discovered?.cpu?.capRange;
  // As published: the agent has already validated the firmware's values (discover-hardware.ts).
  const max = claim(usable(capRange?.maxWattsPerSocket), "discovered") ??
    claim(entry?.tdp.value, "catalogue") ?? {
      value: watts(fallbackCpuWatts(totalCores?.value) / sockets.value),
      from: "fallback" as const,
    };
  const min = usable(capRange?.minWattsPerSocket);
  const idleShare = entry?.curve?.points[0]?.[1];
  const maxWatts = watts(max.value * sockets.value);
  return {
    ...resolution,
    ...(vendor ? { vendor: vendor.value } : {}),
    sockets: sockets.value,
    ...(coresPerSocket ? { coresPerSocket: coresPerSocket.value } : {}),
    ...(totalCores ? { totalCores: totalCores.value } : {}),
    ...(identity.logicalCpus ? { logicalCpus: identity.logicalCpus.value } : {}),
    baseGHz: baseGHz.value,
    maxWattsPerSocket: max.value,
    ...(min === undefined ? {} : { minWattsPerSocket: watts(Math.min(min, max.value)) }),
    maxWatts,
    idleWatts: watts(maxWatts * (idleShare ?? FALLBACK_CPU_IDLE_SHARE)),
    ...(entry?.curve ? { curve: entry.curve } : {}),
    ...(entry ? { plausibleWattsPerSocket: plausibleSocketWatts(entry, resolution.match) } : {}),
    from: origins({
      model: identity.names,
      vendor,
      sockets,
      coresPerSocket,
      totalCores,
      baseGHz,
      maxWatts: max,
      idleWatts: { from: idleShare === undefined ? "fallback" : "catalogue" },
    }),
  };
}
