import { namesIn, numberAt, textAt } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";

const THERMAL = "class/thermal";

/**
 * Whether the kernel limits CPU frequency because of temperature. The limit shows in scaling_max_freq, so a value read now would be
 * recorded as the original and restored permanently.
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
