export type { ClockModel, DeviceModel } from "./device.ts";
export { powerAt } from "./device.ts";
export type { DeviceClass } from "./device-class.ts";
export { cpuClassOf, gpuClassOf } from "./device-classes.ts";
export {
  defaultFacility,
  type FacilityModel,
  type FacilityReading,
  facilityAt,
  inletAt,
  outsideAt,
} from "./facility.ts";
export { type Beginning, type Happening, SimulatedNode } from "./node.ts";
export { type DeviceSpec, type NodeModel, type NodeSpec, nodeModel, nodeModelOf } from "./node-model.ts";
export type { Caps, Operation } from "./operation.ts";
export type { Job } from "./work.ts";
export { WORK_KINDS, type WorkKind } from "./work-kinds.ts";
