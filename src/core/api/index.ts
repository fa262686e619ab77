export {
  type ControlResult,
  controlResults,
  type ProfileControlReport,
  type TwinControlReport,
} from "./control-report.ts";
export { crdOf, type StructuralSchema } from "./crd.ts";
export { type ErrorCode, errorCodes } from "./error-codes.ts";
export * from "./errors.ts";
export { describeProblem, type ObjectProblem } from "./examine.ts";
export * from "./kinds.ts";
export * from "./kubernetes.ts";
export type { Condition, ObjectMetadata, OwnerReference } from "./metadata.ts";
export * from "./names.ts";
export * from "./node-hardware.ts";
export * from "./node-twin.ts";
export { isObjectName } from "./object-shape.ts";
export * from "./power-endpoint.ts";
export type { NodePowerProfile, NodePowerProfileSpec } from "./power-target.ts";
export { type CpuCap, type GpuPowerCap, type PowerTarget, type Profile, profiles } from "./power-target.ts";
export { type ReadObject, readAs, readObject } from "./read.ts";
export * from "./selector.ts";
export * from "./telemetry-profile.ts";
export { validateForWrite, type Writable } from "./write.ts";
