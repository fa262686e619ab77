import type { HardwareView } from "../inventory/index.ts";
import { isPositive, memoize, type Watts, watts } from "../units/index.ts";
import type { DeviceModel } from "./device.ts";
import type { DeviceClass } from "./device-classes.ts";
import { cpuClassOf, gpuClassOf } from "./device-classes.ts";

/** The power of a node by its devices. Nodes of one hardware type share one model. */
export interface NodePowerModel {
  readonly packages: number;
  /** Of all packages. */
  readonly cores: number;
  /** One package. */
  readonly cpu: DeviceModel;
  readonly boards: number;
  /** One board; absent on a CPU-only node. */
  readonly gpu?: DeviceModel;
  /** All packages and boards at idle. */
  readonly idle: Watts;
  /** All packages and boards at full load. */
  readonly full: Watts;
}

/** Watts and class of one package or one board. */
interface DeviceSpec {
  readonly idle: Watts;
  readonly full: Watts;
  readonly class: DeviceClass;
}

export interface NodeSpec {
  readonly cpu: DeviceSpec & { readonly packages: number; readonly cores: number };
  readonly gpu?: (DeviceSpec & { readonly boards: number }) | undefined;
}

export function nodePowerModel({ cpu, gpu }: NodeSpec): NodePowerModel {
  const packages = atLeastOne(cpu.packages);
  const boards = gpu !== undefined && isPositive(gpu.boards) ? Math.min(MAX_PARTS, gpu.boards) : 0;
  const cpuModel = deviceModel(cpu);
  const gpuModel = gpu && boards > 0 ? deviceModel(gpu) : undefined;
  const total = (what: "idle" | "full"): Watts => watts(packages * cpuModel[what] + boards * (gpuModel?.[what] ?? 0));
  return {
    packages,
    cores: atLeastOne(cpu.cores),
    cpu: cpuModel,
    boards,
    ...(gpuModel ? { gpu: gpuModel } : {}),
    idle: total("idle"),
    full: total("full"),
  };
}

/** Builds the power model of a node from its hardware view: its watts, and the classes of its models. */
export const nodePowerModelOf = memoize(
  ({ cpu, gpu }: HardwareView): NodePowerModel =>
    nodePowerModel({
      // Uncapped packages and boards run at their default limit, which may be below their maximum.
      cpu: {
        packages: cpu.sockets,
        cores: cpu.totalCores ?? cpu.sockets,
        idle: watts(cpu.idleWatts / cpu.sockets),
        full: watts(cpu.defaultWatts / cpu.sockets),
        class: cpuClassOf(cpu.key),
      },
      gpu: gpu && { boards: gpu.count, idle: gpu.idleWatts, full: gpu.defaultWatts, class: gpuClassOf(gpu.key) },
    }),
);

/** Larger counts and powers are typing errors and would make power infinite. */
const MAX_PARTS = 1e6;
const MAX_WATTS = 1e6;
const atLeastOne = (count: number): number => (isPositive(count) ? Math.min(MAX_PARTS, Math.max(1, count)) : 1);
const sound = (power: Watts): number => (isPositive(power) ? Math.min(MAX_WATTS, power) : 0);

function deviceModel({ idle, full, class: { clock, shape } }: DeviceSpec): DeviceModel {
  const most = sound(full);
  return { idle: watts(Math.min(sound(idle), most)), full: watts(most), clock, shape };
}
