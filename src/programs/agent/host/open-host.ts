import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { NodeHardwareStatus } from "../../../core/api/index.ts";
import { kilohertz } from "../../../core/control/index.ts";
import type { Catalogue } from "../../../core/inventory/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import {
  CpufreqBackend,
  findGpuBackend,
  HostDirectory,
  HostFactsReader,
  type HostFiles,
  HsmpBackend,
  HsmpDevice,
  type HsmpDeviceOptions,
  type PowerCapBackend,
  RaplBackend,
  RaplEnergy,
} from "../../../platform/hardware/index.ts";
import type { AgentConfig } from "../config.ts";
import { catalogueLimits, discoverHardware } from "../discovery/discover-hardware.ts";
import type { Frequency, HostMachine } from "./host.ts";

export type HostConfig = Pick<AgentConfig, "HOST_SYS_ROOT" | "HOST_PROC_ROOT" | "NVML_LIBRARY" | "STATE_DIR"> &
  Partial<Pick<AgentConfig, "DVFS_MIN_FREQ_KHZ">>;

/** Where nothing is ever throttled. */
const NO_FLOOR = 1;

/** The files of the host this runs on. */
export function hostRoots(config: HostConfig): { readonly sys: HostFiles; readonly proc: HostFiles } {
  const { HOST_SYS_ROOT: sys, HOST_PROC_ROOT: proc } = config;
  return {
    sys: new HostDirectory(sys, { knownAs: "/sys", mountTable: () => mountTableIn(proc) }),
    proc: new HostDirectory(proc, { knownAs: "/proc" }),
  };
}

/** Read when a mount refuses a write, so that the message can name it. */
function mountTableIn(proc: string): string | undefined {
  for (const name of ["self/mountinfo", "self/mounts", "mounts"]) {
    try {
      return readFileSync(join(proc, name), "utf8");
    } catch {
      // The next one may be there.
    }
  }
  return undefined;
}

export interface OpenHostOptions {
  /** Whether STATE_DIR may be written: `joulie agent probe` leaves no trace. */
  readonly mayWrite?: boolean;
  /** Where the HSMP driver's device is, and what calls it: others in tests. */
  readonly hsmp?: Omit<HsmpDeviceOptions, "clock">;
}

/** The host by its files, its libraries and its tools. */
export function openHost(
  config: HostConfig,
  { sys, proc }: { readonly sys: HostFiles; readonly proc: HostFiles },
  clock: Clock,
  catalogue: Catalogue,
  { mayWrite: mayWriteState = true, hsmp = {} }: OpenHostOptions = {},
): HostMachine {
  const facts = new HostFactsReader({ sys, proc });
  // Identity stays: the limits of the part are looked up once.
  let limits: ReturnType<typeof catalogueLimits> | undefined;
  const known = () => (limits ??= catalogueLimits(facts.read().cpu.model, catalogue));
  const ratedPower = () => known().rated;
  const leastPower = () => known().least;
  const mostPower = () => known().most;
  const cpuCaps: readonly PowerCapBackend[] = [
    new RaplBackend({ files: sys, clock, ratedPower, minPower: leastPower, maxPower: mostPower }),
    new HsmpBackend({
      files: sys,
      clock,
      device: new HsmpDevice({ clock, ...hsmp }),
      minPower: leastPower,
      maxPower: mostPower,
    }),
  ];
  const throttle = new CpufreqBackend({ files: sys, clock, lowest: kilohertz(config.DVFS_MIN_FREQ_KHZ ?? NO_FLOOR) });
  const energy = new RaplEnergy({ files: sys, clock, ratedPower });
  const { NVML_LIBRARY: nvmlLibrary, STATE_DIR: stateDir } = config;
  const gpu = findGpuBackend({ sys, proc, clock, nvmlLibrary, stateDir, mayWrite: mayWriteState });
  return {
    boot: bootOf(proc),
    cpuCaps,
    throttle,
    energy,
    gpu,
    discover: async (node, signal, { gpus = true, mayWrite = false } = {}): Promise<NodeHardwareStatus> =>
      discoverHardware(
        { facts, cpuCaps, throttle, energy, gpuCaps: gpus ? [gpu] : [] },
        node ?? { metadata: { name: "" } },
        catalogue,
        { mayWrite, signal },
      ),
    async frequencies(withCurrent): Promise<readonly Frequency[]> {
      const policies = await throttle.frequencies(withCurrent);
      return policies.map(({ cpu, current, max }) => ({ cpu: String(cpu), current, maximum: max }));
    },
    async close(): Promise<void> {
      await Promise.all([...cpuCaps, gpu].map(async (backend) => backend.close?.()));
      sys.close();
      proc.close();
    },
  };
}

function bootOf(proc: HostFiles): string | undefined {
  try {
    return proc.read("sys/kernel/random/boot_id").trim() || undefined;
  } catch {
    return undefined;
  }
}
