import type { HostFiles } from "../port.ts";
import { hostFileText, numberAt } from "./host-values.ts";

/** No machine has more. Bounds the work for a malformed list. */
const MAX_CPUS = 65_536;

/** Parses a kernel CPU list: `0-3,8,10-11`, or numbers separated by spaces. Skips anything else. */
export function cpuList(text: string): readonly number[] {
  const cpus = new Set<number>();
  for (const part of text.split(/[\s,]+/)) {
    const [matched, first, last = first] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part) ?? [];
    if (matched === undefined) continue;
    const end = Math.min(Number(last), MAX_CPUS - 1);
    for (let cpu = Number(first); cpu <= end; cpu += 1) cpus.add(cpu);
  }
  return [...cpus].toSorted((a, b) => a - b);
}

const CPU = "devices/system/cpu";

/** Sockets and cores of the online CPUs, from sysfs. Unknown values are missing. */
export interface Topology {
  readonly online?: number;
  readonly offline: number;
  readonly sockets?: number;
  readonly cores?: number;
  /** The CPU has core types with different frequencies (Intel hybrid). */
  readonly isHybrid: boolean;
}

export function readTopology(files: HostFiles): Topology {
  const online = cpuList(hostFileText(files, `${CPU}/online`) ?? "");
  const packages = new Set<number>();
  const cores = new Set<string>();
  for (const cpu of online) {
    // A machine that does not know its packages reports -1 for every CPU: all CPUs then form one package.
    const packageId = idAt(files, `${CPU}/cpu${cpu}/topology/physical_package_id`);
    const coreId = idAt(files, `${CPU}/cpu${cpu}/topology/core_id`);
    if (packageId === undefined) continue;
    packages.add(packageId);
    if (coreId !== undefined) cores.add(`${packageId} ${coreId}`);
  }
  return {
    ...(online.length === 0 ? {} : { online: online.length }),
    offline: cpuList(hostFileText(files, `${CPU}/offline`) ?? "").length,
    ...(packages.size === 0 ? {} : { sockets: packages.size }),
    ...(cores.size === 0 ? {} : { cores: cores.size }),
    isHybrid: files.exists("devices/cpu_core/cpus") && files.exists("devices/cpu_atom/cpus"),
  };
}

/** A topology id: a whole number, or -1 if the kernel does not know it. */
function idAt(files: HostFiles, path: string): number | undefined {
  const text = hostFileText(files, path)?.trim();
  return text === "-1" ? -1 : numberAt(files, path);
}
