import { namesIn, textAt } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";
import type { GpuBackendVendor } from "./gpu-board.ts";

const DEVICES = "bus/pci/devices";

const vendors: Readonly<Record<string, GpuBackendVendor>> = { "0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel" };

/** Displays and accelerators: a vendor's switches and sound functions are no GPUs. */
const CLASSES = /^0x(03|12)/;

/** Whose GPUs sit on the bus, with or without a driver. */
export class PciGpuVendors {
  readonly #files: HostFiles;
  #names = "";
  #found: ReadonlySet<GpuBackendVendor> = new Set();

  constructor(files: HostFiles) {
    this.#files = files;
  }

  /** A large machine has hundreds of devices: they are read again only when others are listed. */
  present(): ReadonlySet<GpuBackendVendor> {
    const devices = namesIn(this.#files, DEVICES);
    const names = devices.join();
    if (names !== this.#names) {
      this.#names = names;
      this.#found = new Set(devices.map((device) => this.#vendorOf(device)).filter((vendor) => vendor !== undefined));
    }
    return this.#found;
  }

  #vendorOf(device: string): GpuBackendVendor | undefined {
    const kind = textAt(this.#files, `${DEVICES}/${device}/class`)?.trim() ?? "";
    return CLASSES.test(kind) ? vendors[textAt(this.#files, `${DEVICES}/${device}/vendor`)?.trim() ?? ""] : undefined;
  }
}
