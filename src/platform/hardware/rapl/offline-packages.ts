import { hostFileText, numberAt } from "../host/host-values.ts";
import { cpuList } from "../host/topology.ts";
import type { HostFiles } from "../port.ts";

const CPU = "devices/system/cpu";

/**
 * Returns a test for packages (`package-1`) that have no online CPU. The kernel removes the zone of such a package, with its limits.
 * False if the topology is unknown. This reads hundreds of files, so callers pass only packages that are missing.
 */
export function offlinePackages(files: HostFiles, missing: readonly string[]): (id: string) => boolean {
  if (missing.length === 0) return () => false;
  const packages = cpuList(hostFileText(files, `${CPU}/online`) ?? "").map((cpu) =>
    numberAt(files, `${CPU}/cpu${cpu}/topology/physical_package_id`),
  );
  if (packages.length === 0 || packages.includes(undefined)) return () => false;
  return (id) => !packages.includes(Number(id.replace("package-", "")));
}
