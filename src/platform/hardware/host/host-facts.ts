import type { HostFiles } from "../port.ts";
import { parseCpuinfo } from "./cpuinfo.ts";
import { type FrequencyLandmarks, readFrequencyFacts } from "./frequency-landmarks.ts";
import { namesIn, textAt } from "./host-values.ts";
import { readMemoryBytes } from "./memory.ts";
import { readTopology } from "./topology.ts";

/** What the host's own files say it is made of. What they do not say is missing, and `warnings` has words where that matters. */
export interface HostFacts {
  readonly cpu: CpuFacts;
  readonly memoryBytes?: number;
  readonly warnings: readonly string[];
}

export interface CpuFacts {
  /** As the system spells it; on ARM the core's name, for there is no other. */
  readonly model?: string;
  readonly vendor?: string;
  readonly sockets?: number;
  readonly totalCores?: number;
  readonly logicalCpus?: number;
  readonly isVirtual: boolean;
  /** The cpufreq driver. */
  readonly driver?: string;
  readonly landmarks: FrequencyLandmarks;
  readonly warnings: readonly string[];
}

/** HOST_SYS_ROOT and HOST_PROC_ROOT. */
export interface HostRoots {
  readonly sys: HostFiles;
  readonly proc: HostFiles;
}

/** Reads the facts, and again only when CPUs or policies came or went: there may be hundreds of files. */
export class HostFactsReader {
  readonly #roots: HostRoots;
  #seen: string | undefined;
  #facts: HostFacts | undefined;

  constructor(roots: HostRoots) {
    this.#roots = roots;
  }

  read(): HostFacts {
    const { sys } = this.#roots;
    const online = textAt(sys, "devices/system/cpu/online") ?? "";
    const seen = `${online} ${namesIn(sys, "devices/system/cpu/cpufreq").join(" ")}`;
    if (this.#facts === undefined || seen !== this.#seen) {
      this.#facts = hostFacts(this.#roots);
      this.#seen = seen;
    }
    return this.#facts;
  }
}

export function hostFacts({ sys, proc }: HostRoots): HostFacts {
  const cpuinfo = textAt(proc, "cpuinfo");
  const info = parseCpuinfo(cpuinfo ?? "");
  const topology = readTopology(sys);
  const { driver, landmarks } = readFrequencyFacts(sys);
  const isVirtual = info.isVirtual || saysVirtual(sys);
  const sockets = topology.sockets ?? info.sockets;
  const totalCores = topology.cores ?? info.cores;
  const logicalCpus = topology.online ?? (info.logicalCpus > 0 ? info.logicalCpus : undefined);
  const memory = readMemoryBytes(proc);
  const model = info.model;
  const cpuWarnings = [
    model === undefined
      ? `no CPU model: ${proc.root}/cpuinfo ${cpuinfo === undefined ? "cannot be read" : "names none"}`
      : "",
    isVirtual ? "this is a virtual machine: its sockets and cores are those the hypervisor shows" : "",
    topology.isHybrid ? "cores of several kinds: frequencies are those of the fastest" : "",
    topology.offline > 0 ? `${topology.offline} CPUs are offline: sockets and cores are of those online` : "",
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
    warnings: memory === undefined ? [`the memory's size is unknown: ${proc.root}/meminfo cannot be read`] : [],
  };
}

/** What hypervisors call the machines they show: ARM has no flag for it. */
const VIRTUAL_PRODUCTS = /virtual|kvm|qemu|bochs|vmware|hvm domu|openstack|google compute engine/i;

function saysVirtual(sys: HostFiles): boolean {
  const type = textAt(sys, "hypervisor/type")?.trim() ?? "";
  return type !== "" || VIRTUAL_PRODUCTS.test(textAt(sys, "class/dmi/id/product_name") ?? "");
}
