import type { Figure, HardwareView } from "../inventory/index.ts";
import { celsius, isPositive, seconds, type Watts, watts } from "../units/index.ts";
import type { DeviceModel } from "./device.ts";
import type { DeviceClass } from "./device-class.ts";
import { cpuClassOf, gpuClassOf } from "./device-classes.ts";
import { PHYSICS_SOURCES as from, sourcedFigure } from "./sources.ts";
import type { ThermalModel } from "./thermal.ts";

/** The constant properties of a node. Nodes of one hardware type share one model. */
export interface NodeModel {
  readonly packages: number;
  /** Of all packages. */
  readonly cores: number;
  /** One package. */
  readonly cpu: DeviceModel;
  readonly boards: number;
  /** One board; absent on a CPU-only node. */
  readonly gpu?: DeviceModel | undefined;
  readonly thermal: ThermalModel;
  readonly idle: Watts;
  readonly full: Watts;
}

/** How the temperature of a node follows its power. */
export const THERMAL_DEFAULTS = {
  /** Temperature rise at full power. Cooling is sized for the hardware, so the value is the same for all nodes. */
  riseAtFull: sourcedFigure(45, "assumed", from.estimate),
  timeConstant: sourcedFigure(seconds(120), "assumed", from.estimate),
  throttleAt: sourcedFigure(celsius(85), "assumed", from.estimate),
  resumeAt: sourcedFigure(celsius(80), "assumed", from.estimate),
  hotClock: sourcedFigure(0.6, "assumed", from.estimate),
} as const satisfies Record<string, Figure>;

/** Watts and class of one package or one board. */
export interface DeviceSpec {
  readonly idle: Watts;
  readonly full: Watts;
  readonly class: DeviceClass;
}

export interface NodeSpec {
  readonly cpu: DeviceSpec & { readonly packages: number; readonly cores: number };
  readonly gpu?: (DeviceSpec & { readonly boards: number }) | undefined;
}

/** Builds the model of a node from a specification. */
export function nodeModel({ cpu, gpu }: NodeSpec): NodeModel {
  const packages = atLeastOne(cpu.packages);
  const boards = gpu !== undefined && isPositive(gpu.boards) ? Math.min(MOST_PARTS, gpu.boards) : 0;
  const cpuModel = deviceModel(cpu);
  const gpuModel = gpu && boards > 0 ? deviceModel(gpu) : undefined;
  const total = (what: "idle" | "full"): Watts => watts(packages * cpuModel[what] + boards * (gpuModel?.[what] ?? 0));
  const full = total("full");
  return {
    packages,
    cores: atLeastOne(cpu.cores),
    cpu: cpuModel,
    boards,
    ...(gpuModel ? { gpu: gpuModel } : {}),
    thermal: thermalModel(full),
    idle: total("idle"),
    full,
  };
}

/** Builds the model of a node from its hardware view: its watts, and the classes of its models. */
export function nodeModelOf({ cpu, gpu }: HardwareView): NodeModel {
  return nodeModel({
    cpu: {
      packages: cpu.sockets,
      cores: cpu.totalCores ?? cpu.sockets,
      idle: watts(cpu.idleWatts / cpu.sockets),
      full: cpu.maxWattsPerSocket,
      class: cpuClassOf(cpu.key),
    },
    // An uncapped board runs at its default limit, which may be below its maximum.
    gpu: gpu && { boards: gpu.count, idle: gpu.idleWatts, full: gpu.defaultWatts, class: gpuClassOf(gpu.key) },
  });
}

/** Larger counts and powers are typing errors and would make power infinite. */
const MOST_PARTS = 1e6;
const MOST_WATTS = 1e6;
const atLeastOne = (count: number): number => (isPositive(count) ? Math.min(MOST_PARTS, Math.max(1, count)) : 1);
const sound = (power: Watts): number => (isPositive(power) ? Math.min(MOST_WATTS, power) : 0);

function deviceModel({ idle, full, class: { clock, shape } }: DeviceSpec): DeviceModel {
  const most = sound(full);
  return { idle: watts(Math.min(sound(idle), most)), full: watts(most), clock, shape };
}

function thermalModel(full: Watts): ThermalModel {
  const { riseAtFull, timeConstant, throttleAt, resumeAt, hotClock } = THERMAL_DEFAULTS;
  return {
    degreesPerWatt: full > 0 ? riseAtFull.value / full : 0,
    timeConstant: timeConstant.value,
    throttleAt: throttleAt.value,
    resumeAt: resumeAt.value,
    hotClock: hotClock.value,
  };
}
