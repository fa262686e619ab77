import type { GpuVendor } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import models from "./builtin-models.json" with { type: "json" };
import type { CpuEntry, CpuFamily, GpuEntry, Proxy } from "./catalogue-entry.ts";

/**
 * The built-in models of Joulie, without the additions of a site. The file has the format of HARDWARE_CATALOG_PATH, and
 * lists its sources first. For readers of it:
 * - `amd-epyc-9654` also has the figures of the 9654P: a P only marks a CPU as single-socket.
 * - The clock of Ampere Altra is fixed, so base and boost are equal.
 * - Curves are from SPECpower, which measures whole servers at the wall, so they only say the ratio of idle to full load.
 * - The driver reports the two dies of an MI250 as two GPUs. For MI300 and MI350 the number depends on the partition mode.
 * - /proc/cpuinfo of ARM has no model name, only implementer 0x41 and a part number that several vendors license.
 * - A bare "H100" may be a 350 W card or a 700 W module. If a module were treated as the card, it would be capped too low
 *   and its rack overfilled. If a card is treated as the module, its power is only overestimated. So a bare name maps to
 *   the strongest board.
 */
export const BUILTIN_CPUS = models.cpus as readonly unknown[] as readonly CpuEntry[];
export const BUILTIN_GPUS = models.gpus as readonly unknown[] as readonly GpuEntry[];
export const CPU_PROXIES: readonly Proxy[] = models.cpuProxies;
export const GPU_PROXIES: readonly Proxy[] = models.gpuProxies;

/** Workstation models such as the w9-3495X and the W-3375 have numbers like those of servers. */
const WORKSTATION = /^w\d?$/;

/**
 * The last digit of an EPYC is the generation; cloud models have a letter in the middle (7R13, 9R14, 9B45). A P or E at the
 * end of a 65xx, 67xx or 69xx marks a Xeon 6, not the older Gold of the same number.
 */
export const CPU_FAMILIES: readonly CpuFamily[] = [
  { family: "EPYC 7003", brand: "epyc", model: /^7[0-9a-z]{2}3[a-z]*$/, representative: "amd-epyc-7713" },
  { family: "EPYC 9004", brand: "epyc", model: /^9[0-9a-z]\d4[a-z]*$/, representative: "amd-epyc-9654" },
  { family: "EPYC 9005", brand: "epyc", model: /^9[0-9a-z]\d5[a-z]*$/, representative: "amd-epyc-9655" },
  {
    family: "Xeon Granite Rapids",
    brand: "xeon",
    model: /^6[579]\d\dp[a-z]*$/,
    except: WORKSTATION,
    representative: "intel-xeon-6960p",
  },
  {
    family: "Xeon Sierra Forest",
    brand: "xeon",
    model: /^6[79]\d\de[a-z]*$/,
    except: WORKSTATION,
    representative: "intel-xeon-6766e",
  },
  {
    family: "Xeon Ice Lake",
    brand: "xeon",
    model: /^[8654]3\d\d(?!p)[a-z]*$/,
    except: WORKSTATION,
    representative: "intel-xeon-platinum-8358",
  },
  {
    family: "Xeon Sapphire Rapids",
    brand: "xeon",
    model: /^[86543]4\d\d(?!p[a-z]*$)[a-z]*$/,
    except: WORKSTATION,
    representative: "intel-xeon-platinum-8468",
  },
  {
    family: "Xeon Emerald Rapids",
    brand: "xeon",
    model: /^[86543]5\d\d(?!p[a-z]*$)[a-z]*$/,
    except: WORKSTATION,
    representative: "intel-xeon-platinum-8558",
  },
];

/** The assumed maximum power of unknown hardware (CONTRACT 6.22): per node for CPUs, per board for GPUs. */
export const fallbackCpuWatts = (cores: number | undefined): Watts => watts(Math.max(150, 3.5 * (cores ?? 0)));
export const fallbackGpuWatts = (vendor: GpuVendor | undefined): Watts => watts(vendor === "amd" ? 400 : 350);

/** Mean ratio of idle to full power in the Cloud Carbon Footprint coefficients: 0.74 of 3.5 W per vCPU. */
export const FALLBACK_CPU_IDLE_SHARE = 0.21;

/** From the boards with a published idle measurement: 79 of 700 W, 62 of 400 W. */
export const FALLBACK_GPU_IDLE_SHARE = 0.12;

/** The clock of the slowest known CPU, so that an unknown node never ranks above the same node once it is known. */
export const FALLBACK_BASE_GHZ = Math.min(...BUILTIN_CPUS.map(({ baseGHz }) => baseGHz));
