import type { HostFiles } from "../port.ts";
import { parseCpuinfo } from "./cpuinfo.ts";
import { type FrequencyLandmarks, readFrequencyFacts } from "./frequency-landmarks.ts";
import { hostFileText } from "./host-values.ts";
import { readTopology } from "./topology.ts";

/** The host's hardware, read from its files. Unknown values are missing, and `warnings` names the important ones. */
export interface HostFacts {
  readonly cpu: CpuFacts;
  readonly memoryBytes?: number;
  readonly warnings: readonly string[];
}

interface CpuFacts {
  /** The model name from /proc/cpuinfo; on ARM the name of the core. */
  readonly model?: string;
  readonly vendor?: string;
  readonly sockets?: number;
  readonly totalCores?: number;
  readonly logicalCpus?: number;
  readonly isVirtual: boolean;
  readonly driver?: string;
  readonly landmarks: FrequencyLandmarks;
  readonly warnings: readonly string[];
}

/** HOST_SYS_ROOT and HOST_PROC_ROOT. */
export interface HostRoots {
  readonly sys: HostFiles;
  readonly proc: HostFiles;
}

/** Reads hundreds of files. */
export function hostFacts({ sys, proc }: HostRoots): HostFacts {
  const cpuinfo = hostFileText(proc, "cpuinfo");
  const info = parseCpuinfo(cpuinfo ?? "");
  const topology = readTopology(sys);
  const { driver, landmarks } = readFrequencyFacts(sys);
  const isVirtual = info.isVirtual || looksVirtual(sys);
  const sockets = topology.sockets ?? info.sockets;
  const totalCores = topology.cores ?? info.cores;
  const logicalCpus = topology.online ?? (info.logicalCpus > 0 ? info.logicalCpus : undefined);
  const memory = readMemoryBytes(proc);
  const model = info.model;
  const cpuWarnings = [
    model === undefined
      ? `unknown CPU model: ${proc.root}/cpuinfo ${cpuinfo === undefined ? "cannot be read" : "has no model name"}`
      : "",
    isVirtual ? "virtual machine: the hypervisor decides which sockets and cores are visible" : "",
    topology.isHybrid ? "hybrid CPU: frequencies are those of the fastest core type" : "",
    topology.offline > 0 ? `${topology.offline} CPUs are offline: sockets and cores count online CPUs only` : "",
    sockets === undefined ? "the number of sockets is unknown" : "",
  ];
  return {
    cpu: {
      ...(model === undefined ? {} : { model }),
      ...(info.vendor === undefined ? {} : { vendor: info.vendor }),
      ...(sockets === undefined ? {} : { sockets }),
      ...(totalCores === undefined ? {} : { totalCores }),
      ...(logicalCpus === undefined ? {} : { logicalCpus }),
      isVirtual,
      ...(driver === undefined ? {} : { driver }),
      landmarks,
      warnings: cpuWarnings.filter((warning) => warning !== ""),
    },
    ...(memory === undefined ? {} : { memoryBytes: memory }),
    warnings: memory === undefined ? [`unknown memory size: ${proc.root}/meminfo cannot be read`] : [],
  };
}

/** DMI product names of virtual machines: ARM has no CPU flag for it. */
const VIRTUAL_PRODUCTS = /virtual|kvm|qemu|bochs|vmware|hvm domu|openstack|google compute engine/i;

function looksVirtual(sys: HostFiles): boolean {
  const type = hostFileText(sys, "hypervisor/type")?.trim() ?? "";
  return type !== "" || VIRTUAL_PRODUCTS.test(hostFileText(sys, "class/dmi/id/product_name") ?? "");
}

/** The memory that the kernel manages, in bytes: slightly less than the installed memory. */
function readMemoryBytes(proc: HostFiles): number | undefined {
  const kibibytes = /^MemTotal:\s+(\d{1,15}) kB$/m.exec(hostFileText(proc, "meminfo") ?? "")?.[1];
  const bytes = kibibytes === undefined ? 0 : Number(kibibytes) * 1024;
  return bytes > 0 && Number.isSafeInteger(bytes) ? bytes : undefined;
}
