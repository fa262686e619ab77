import { hostFileText, namesIn } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";
import type { GpuBackendVendor } from "./gpu-board.ts";

const DEVICES = "bus/pci/devices";

const vendors: Readonly<Record<string, GpuBackendVendor>> = { "0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel" };

/** PCI classes of displays and accelerators: a vendor's switches and sound functions are not GPUs. */
const CLASSES = /^0x(03|12)/;

/** The vendors of the GPUs on the PCI bus, with or without a driver. */
export class PciGpuVendors {
  readonly #files: HostFiles;
  #names = "";
  #found: ReadonlySet<GpuBackendVendor> = new Set();

  constructor(files: HostFiles) {
    this.#files = files;
  }

  /** Cached until the device list changes: a large machine has hundreds of devices. */
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
    const kind = hostFileText(this.#files, `${DEVICES}/${device}/class`)?.trim() ?? "";
    return CLASSES.test(kind)
      ? vendors[hostFileText(this.#files, `${DEVICES}/${device}/vendor`)?.trim() ?? ""]
      : undefined;
  }
}
