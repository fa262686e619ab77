import { hostFileText, namesIn, realPath } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";

const CLASS = "class/powercap";

/** The powercap zone of a whole package or of one die. Core, uncore, memory and platform zones are not included. */
export interface PackageZone {
  /** The kernel's zone name (`package-0`, `package-0-die-1`), not the number in the folder name. */
  readonly name: string;
  readonly socket: number;
  readonly die?: number;
  /** The resolved folder: two paths to the same folder are one zone. */
  readonly path: string;
  /** The zone of the memory-mapped registers: a second limit for the same package and energy counter. */
  readonly isMmio: boolean;
  /** Has constraint files. AMD zones have none: energy can be read, but there is no limit to set. */
  readonly isLimited: boolean;
}

export interface PackageZones {
  readonly zones: readonly PackageZone[];
  /** Why there are no zones. */
  readonly absent?: string;
}

/** Folder numbers are hexadecimal and follow the order of registration. `intel-rapl:0:0` is a subzone. */
const TOP_LEVEL = /^intel-rapl(-mmio)?:[\da-f]+$/;
const PACKAGE = /^package-(\d{1,5})(?:-die-(\d{1,5}))?$/;

/** Finds the package zones. Resolving links is the slowest part, so links are resolved again only when the zones change. */
export class PowercapZones {
  readonly #files: HostFiles;
  #cacheKey: string | undefined;
  #found: PackageZones = { zones: [] };

  constructor(files: HostFiles) {
    this.#files = files;
  }

  read(): PackageZones {
    const files = this.#files;
    const folders = namesIn(files, CLASS).filter((name) => TOP_LEVEL.test(name));
    const names = folders.map((folder) => hostFileText(files, `${CLASS}/${folder}/name`));
    const cacheKey = JSON.stringify([folders, names]);
    if (cacheKey !== this.#cacheKey || this.#found.zones.length === 0) this.#found = findZones(files, folders);
    this.#cacheKey = cacheKey;
    return this.#found;
  }
}

function findZones(files: HostFiles, folders: readonly string[]): PackageZones {
  const readable = folders.filter((name) => hostFileText(files, `${CLASS}/${name}/name`) !== undefined);
  const byPath = new Map<string, PackageZone>();
  for (const folder of readable) {
    const zone = packageZone(files, folder);
    if (zone !== undefined) byPath.set(zone.path, zone);
  }
  const zones = [...byPath.values()].toSorted((a, b) => a.socket - b.socket || (a.die ?? 0) - (b.die ?? 0));
  return zones.length > 0 ? { zones } : { zones, absent: whyNone(files, folders.length, readable.length) };
}

function packageZone(files: HostFiles, folder: string): PackageZone | undefined {
  const name = hostFileText(files, `${CLASS}/${folder}/name`) ?? "";
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
  if (readable > 0) return "powercap has no CPU package zone";
  if (folders > 0) {
    return "the powercap zones are empty: container runtimes hide them; mount the host's /sys at HOST_SYS_ROOT";
  }
  return files.exists(CLASS)
    ? "powercap has no zones: virtual machines have none; on bare metal load intel_rapl_msr"
    : "/sys/class/powercap does not exist: virtual machines have none; on bare metal load intel_rapl_common and intel_rapl_msr";
}
