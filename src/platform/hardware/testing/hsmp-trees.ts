import type { HostTree } from "./fake-host.ts";

interface HsmpTree {
  /** The hwmon number of each socket, in the order of sockets: it changes from boot to boot. */
  readonly hwmons?: readonly number[];
  /** ACPI devices are one per socket; the older driver has one device with all sockets below it. */
  readonly acpi?: boolean;
  readonly capMax?: number;
}

/** Two EPYC sockets on a kernel with the amd_hsmp hwmon files, beside another sensor. */
export function hsmpTree({ hwmons = [3, 4], acpi = true, capMax = 400000000 }: HsmpTree = {}): HostTree {
  const files: Record<string, string> = { "devices/pci0000:00/0000:00:18.3/hwmon/hwmon0/name": "k10temp" };
  const links: Record<string, string> = {
    "class/hwmon/hwmon0": "../../devices/pci0000:00/0000:00:18.3/hwmon/hwmon0",
  };
  for (const [socket, hwmon] of hwmons.entries()) {
    const device = acpi ? `AMDI0097:0${socket}` : "amd_hsmp";
    const path = `devices/platform/${device}/hwmon/hwmon${hwmon}`;
    links[`class/hwmon/hwmon${hwmon}`] = `../../${path}`;
    Object.assign(files, {
      [`${path}/name`]: "amd_hsmp_hwmon",
      [`${path}/power1_cap`]: "400000000",
      [`${path}/power1_cap_max`]: String(capMax),
      [`${path}/power1_input`]: "185000000",
    });
  }
  return { files, links };
}
