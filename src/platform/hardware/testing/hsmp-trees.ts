import type { HostTree } from "./fake-host.ts";

interface HsmpTree {
  /** The hwmon number of each socket, in socket order. Numbers change from boot to boot. */
  readonly hwmons?: readonly number[];
  /** ACPI has one device per socket; the older driver has one device for all sockets. */
  readonly acpi?: boolean;
  readonly capMax?: number;
}

/** Two EPYC sockets with amd_hsmp hwmon files, next to another sensor. */
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
