import type { HostFiles } from "../port.ts";
import { hostFileText, namesIn, realPath } from "./host-values.ts";

/** The resolved hwmon folders of the driver with this name. Their numbers change from boot to boot. */
export function hwmonsNamed(files: HostFiles, name: string): readonly string[] {
  const found = namesIn(files, "class/hwmon")
    .filter((folder) => hostFileText(files, `class/hwmon/${folder}/name`)?.trim() === name)
    .map((folder) => realPath(files, `class/hwmon/${folder}`))
    .filter((path) => path !== undefined);
  return [...new Set(found)].toSorted();
}
