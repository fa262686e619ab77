import { namesIn, numberAt, textAt } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";

const THERMAL = "class/thermal";

/**
 * Whether the kernel holds CPUs at a lower frequency because they are hot. Such a limit shows in the same file as anybody's: what
 * is read then would be kept for the original and put back for ever.
 */
export const isThermallyLimited = (files: HostFiles): boolean =>
  namesIn(files, THERMAL)
    .filter((name) => name.startsWith("cooling_device"))
    .some((name) => {
      const state = numberAt(files, `${THERMAL}/${name}/cur_state`);
      return (
        state !== undefined && state > 0 && /^(Processor|cpufreq)/.test(textAt(files, `${THERMAL}/${name}/type`) ?? "")
      );
    });
