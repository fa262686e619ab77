// The simulator's truth: `SimulatedNode` is where to start, docs/guides/model.md says what it rests on.
export { defaultFacility, type FacilityOutput, facilityAt, inletAt, outsideAt } from "./facility.ts";
export { SimulatedNode, type SimulatedNodeEvent } from "./node.ts";
export { type NodeModel, nodeModelOf, THERMAL_DEFAULTS } from "./node-model.ts";
export type { Caps } from "./operation.ts";
export { type SimulatedJob, WORK_KINDS, type WorkKind } from "./work.ts";
