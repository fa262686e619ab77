import process from "node:process";
import { hardwareView } from "../../../core/inventory/index.ts";
import { loadCatalogue } from "../../../platform/catalogue/index.ts";
import { systemClock } from "../../../platform/clock/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import type { ProbeConfig } from "../config.ts";
import { hostRoots, openHost } from "../host/open-host.ts";
import { probeMachine } from "./probe-machine.ts";
import { probeText } from "./probe-text.ts";

/** `joulie agent probe`: prints what this machine supports. Needs no cluster, writes nothing. Returns the exit code. */
export async function probe(
  config: ProbeConfig,
  out = (text: string): void => void process.stdout.write(text),
): Promise<number> {
  const log = createLogger({ level: "warn", format: "pretty", program: "agent", destination: process.stderr });
  const catalogue = await loadCatalogue(config.HARDWARE_CATALOG_PATH, log);
  const machine = openHost(config, hostRoots(config), systemClock, catalogue, { mayWrite: false });
  try {
    const status = await machine.discover(undefined, new AbortController().signal);
    const view = hardwareView({ metadata: { name: "" } }, status, { catalogue });
    const found = await probeMachine(machine, systemClock, {
      status,
      view,
      cpuPct: config.CPU_PCT,
      gpuPct: config.GPU_PCT,
      lowestKHz: config.DVFS_MIN_FREQ_KHZ,
    });
    out(config.JSON ? `${JSON.stringify(found, undefined, 2)}\n` : probeText(found, config));
    return 0;
  } finally {
    await machine.close();
  }
}
