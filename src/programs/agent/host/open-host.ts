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
  type HostFiles,
  HsmpBackend,
  HsmpDevice,
  type HsmpDeviceOptions,
  hostFacts,
  type PowerCapBackend,
  RaplBackend,
  RaplEnergy,
} from "../../../platform/hardware/index.ts";
import type { AgentConfig } from "../config.ts";
import { catalogueLimits, discoverHardware } from "../discovery/discover-hardware.ts";
import type { HostMachine } from "./host.ts";

export type HostConfig = Pick<AgentConfig, "HOST_SYS_ROOT" | "HOST_PROC_ROOT" | "NVML_LIBRARY" | "STATE_DIR"> &
  Partial<Pick<AgentConfig, "DVFS_MIN_FREQ_KHZ">>;

/** Floor for subcommands that never throttle. */
const NO_FLOOR = 1;

export function hostRoots(config: HostConfig): { readonly sys: HostFiles; readonly proc: HostFiles } {
  const { HOST_SYS_ROOT: sys, HOST_PROC_ROOT: proc } = config;
  return {
    sys: new HostDirectory(sys, { knownAs: "/sys", mountTable: () => mountTableIn(proc) }),
    proc: new HostDirectory(proc, { knownAs: "/proc" }),
  };
}

/** Read when a write fails on a read-only mount, to name the mount in the message. */
function mountTableIn(proc: string): string | undefined {
  for (const name of ["self/mountinfo", "self/mounts", "mounts"]) {
    try {
      return readFileSync(join(proc, name), "utf8");
    } catch {
      // Try the next path.
    }
  }
  return undefined;
}

export interface OpenHostOptions {
  readonly mayWrite?: boolean;
  /** Path of the HSMP device and the ioctl function; tests replace them. */
  readonly hsmp?: Omit<HsmpDeviceOptions, "clock">;
}

export function openHost(
  config: HostConfig,
  { sys, proc }: { readonly sys: HostFiles; readonly proc: HostFiles },
  clock: Clock,
  catalogue: Catalogue,
  { mayWrite: mayWriteState = true, hsmp = {} }: OpenHostOptions = {},
): HostMachine {
  const facts = () => hostFacts({ sys, proc });
  // The CPU model does not change, so its catalogue limits are looked up once.
  let limits: ReturnType<typeof catalogueLimits> | undefined;
  const known = () => (limits ??= catalogueLimits(facts().cpu.model, catalogue));
  const ratedPower = () => known().rated;
  const mostPower = () => known().max;
  const cpuCaps: readonly PowerCapBackend[] = [
    new RaplBackend({ files: sys, clock, ratedPower }),
    new HsmpBackend({
      files: sys,
      clock,
      device: new HsmpDevice({ clock, ...hsmp }),
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
    frequencies: async (withCurrent) => throttle.frequencies(withCurrent),
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
