import { cpuList } from "../host/cpu-list.ts";
import { numberAt, textAt } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";

const CPU = "devices/system/cpu";

/**
 * Whether a package (`package-1`) has no CPU online any more: the kernel then takes its zone away, and its limits are gone. False
 * where the topology does not say. Hundreds of files are read, so only for packages that are missing.
 */
export function offlinePackages(files: HostFiles, missing: readonly string[]): (id: string) => boolean {
  if (missing.length === 0) return () => false;
  const packages = cpuList(textAt(files, `${CPU}/online`) ?? "").map((cpu) =>
    numberAt(files, `${CPU}/cpu${cpu}/topology/physical_package_id`),
  );
  if (packages.length === 0 || packages.includes(undefined)) return () => false;
  return (id) => !packages.includes(Number(id.replace("package-", "")));
}
