import { namesIn, realPath, textAt } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";

const CLASS = "class/powercap";

/** A zone of a whole package, or of one die of it. Zones of parts of a package, of memory and of the platform are none. */
export interface PackageZone {
  /** `package-0`, `package-0-die-1`: what the kernel calls it, and not the number in its folder's name. */
  readonly name: string;
  readonly socket: number;
  readonly die?: number;
  /** Its folder, links followed: two paths to one zone are one zone. */
  readonly path: string;
  /** The same package again, behind memory-mapped registers: a second limit over the same counter. */
  readonly isMmio: boolean;
  /** Constraint files: without them there is energy to read and no limit to set, as on AMD. */
  readonly isLimited: boolean;
}

export interface PackageZones {
  readonly zones: readonly PackageZone[];
  /** Why there is none, for people. */
  readonly absent?: string;
}

/** Numbers in names are hexadecimal and in order of registration; `intel-rapl:0:0` is a part of a zone. */
const TOP_LEVEL = /^intel-rapl(-mmio)?:[\da-f]+$/;
const PACKAGE = /^package-(\d{1,5})(?:-die-(\d{1,5}))?$/;

/** Finds the zones of packages. Following links takes longer than all else, so they are followed again only when zones change. */
export class PowercapZones {
  readonly #files: HostFiles;
  #seen: string | undefined;
  #found: PackageZones = { zones: [] };

  constructor(files: HostFiles) {
    this.#files = files;
  }

  read(): PackageZones {
    const files = this.#files;
    const folders = namesIn(files, CLASS).filter((name) => TOP_LEVEL.test(name));
    const names = folders.map((folder) => textAt(files, `${CLASS}/${folder}/name`));
    const seen = JSON.stringify([folders, names]);
    if (seen !== this.#seen || this.#found.zones.length === 0) this.#found = findZones(files, folders);
    this.#seen = seen;
    return this.#found;
  }
}

function findZones(files: HostFiles, folders: readonly string[]): PackageZones {
  const readable = folders.filter((name) => textAt(files, `${CLASS}/${name}/name`) !== undefined);
  const byPath = new Map<string, PackageZone>();
  for (const folder of readable) {
    const zone = packageZone(files, folder);
    if (zone !== undefined) byPath.set(zone.path, zone);
  }
  const zones = [...byPath.values()].toSorted((a, b) => a.socket - b.socket || (a.die ?? 0) - (b.die ?? 0));
  return zones.length > 0 ? { zones } : { zones, absent: whyNone(files, folders.length, readable.length) };
}

function packageZone(files: HostFiles, folder: string): PackageZone | undefined {
  const name = textAt(files, `${CLASS}/${folder}/name`) ?? "";
  const [matched, socket, die] = PACKAGE.exec(name) ?? [];
  const path = realPath(files, `${CLASS}/${folder}`);
  if (matched === undefined || path === undefined) return undefined;
  return {
    name,
    socket: Number(socket),
    ...(die === undefined ? {} : { die: Number(die) }),
    path,
    isMmio: folder.startsWith("intel-rapl-mmio"),
    isLimited: files.exists(`${path}/constraint_0_power_limit_uw`),
  };
}

function whyNone(files: HostFiles, folders: number, readable: number): string {
  if (readable > 0) return "powercap has no zone of a CPU package here";
  if (folders > 0) {
    return "powercap's zones lead nowhere: container runtimes hide them; mount the host's /sys at HOST_SYS_ROOT";
  }
  return files.exists(CLASS)
    ? "powercap has no zones: a virtual machine has none; on hardware load intel_rapl_msr"
    : "there is no /sys/class/powercap: a virtual machine has none; on hardware load intel_rapl_common and intel_rapl_msr";
}
