import type { HostFiles } from "../port.ts";
import { cpuList } from "./cpu-list.ts";
import { numberAt, textAt } from "./host-values.ts";

const CPU = "devices/system/cpu";

/** Sockets and cores of the CPUs that are online, as sysfs has them; what it does not say is missing. */
export interface Topology {
  readonly online?: number;
  readonly offline: number;
  readonly sockets?: number;
  readonly cores?: number;
  /** Cores of more than one kind, with different frequencies. */
  readonly isHybrid: boolean;
}

export function readTopology(files: HostFiles): Topology {
  const online = cpuList(textAt(files, `${CPU}/online`) ?? "");
  const packages = new Set<number>();
  const cores = new Set<string>();
  for (const cpu of online) {
    // Machines that do not know their packages say -1: all of them are one then.
    const packageId = idAt(files, `${CPU}/cpu${cpu}/topology/physical_package_id`);
    const coreId = idAt(files, `${CPU}/cpu${cpu}/topology/core_id`);
    if (packageId === undefined) continue;
    packages.add(packageId);
    if (coreId !== undefined) cores.add(`${packageId} ${coreId}`);
  }
  return {
    ...(online.length === 0 ? {} : { online: online.length }),
    offline: cpuList(textAt(files, `${CPU}/offline`) ?? "").length,
    ...(packages.size === 0 ? {} : { sockets: packages.size }),
    ...(cores.size === 0 ? {} : { cores: cores.size }),
    isHybrid: files.exists("devices/cpu_core/cpus") && files.exists("devices/cpu_atom/cpus"),
  };
}

/** Ids are whole numbers, and -1 where nobody knows. */
function idAt(files: HostFiles, path: string): number | undefined {
  const text = textAt(files, path)?.trim();
  return text === "-1" ? -1 : numberAt(files, path);
}
