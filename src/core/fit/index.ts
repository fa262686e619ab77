export { ArrivalHistory, type RecordedArrivals } from "./arrival-history.ts";
export { decodeArrivals, encodeArrivals } from "./arrival-storage.ts";
export type { FitNode, NodeRoom } from "./fit-node.ts";
export { EXCLUDED, FitTable, type UseCost } from "./fit-table.ts";
export { largestFirst, type PendingGroup, type PodGroup, pendingGroups, resourcesOf, shapeKey } from "./pod-groups.ts";
