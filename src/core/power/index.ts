// How much power devices and nodes draw: shared by decisions (scoring, planning) and by the simulator's physics.

export type { LoadPoints } from "./device.ts";
export {
  COMPUTE_BOUND,
  clockFactor,
  type DeviceModel,
  exceeds,
  fittingClock,
  leastEnergyClock,
  mixedPowerAt,
  powerAt,
} from "./device.ts";
export { CPU_CLASSES, cpuClassOf, type DeviceClass, GPU_CLASSES, gpuClassOf, SPECPOWER } from "./device-classes.ts";
export { type NodePowerModel, type NodeSpec, nodePowerModel, nodePowerModelOf } from "./node-power.ts";
export {
  devicePower,
  POWER_STATES,
  type PowerStateModel,
  powerStateModelOf,
  REST_OF_SERVER,
  type RestOfServer,
  restOfServerOf,
  wallPower,
} from "./server-rest.ts";
