import { type Watts, wattsFromMicrowatts } from "../../core/units/index.ts";
import { namesIn, numberAt, realPath, textAt } from "./host-values.ts";
import type { HostFiles } from "./port.ts";

/** A graphics card whose driver tells power through hwmon. Its number and that of its hwmon change from boot to boot. */
export interface GpuHwmon {
  /** Its device's folder, and that of its hwmon, below the root. */
  readonly device: string;
  readonly hwmon: string;
  readonly driver: string;
  /** `0000:17:00.0`: where it sits, which stays until somebody moves it. */
  readonly address: string;
}

/** The cards of the drivers asked for. Connectors (`card0-DP-1`) and partitions without a hwmon are no cards. */
export function findGpuHwmons(files: HostFiles, drivers: readonly string[]): readonly GpuHwmon[] {
  const found = new Map<string, GpuHwmon>();
  for (const card of namesIn(files, "class/drm").filter((name) => /^card\d+$/.test(name))) {
    const device = `class/drm/${card}/device`;
    for (const name of namesIn(files, `${device}/hwmon`)) {
      const hwmon = `${device}/hwmon/${name}`;
      const driver = textAt(files, `${hwmon}/name`)?.trim() ?? "";
      if (!drivers.includes(driver)) continue;
      const address = realPath(files, device)?.split("/").at(-1) ?? card;
      found.set(address, { device, hwmon, driver, address });
    }
  }
  return [...found.values()];
}

/** A figure of a hwmon in µW; undefined where there is none to be read. */
export function microwattsAt(files: HostFiles, path: string): Watts | undefined {
  const microwatts = numberAt(files, path);
  return microwatts === undefined ? undefined : wattsFromMicrowatts(microwatts);
}

/** What sysfs wants: whole microwatts. */
export const asMicrowatts = (limit: Watts): string => String(Math.round(limit * 1e6));

/** The model by the name the board carries, else by its PCI numbers. */
export function modelOf(files: HostFiles, { device }: GpuHwmon, vendor: string): string | undefined {
  const product = textAt(files, `${device}/product_name`)?.trim();
  if (product) return product;
  const number = textAt(files, `${device}/device`)?.trim();
  return number ? `${vendor} GPU ${number}` : undefined;
}
