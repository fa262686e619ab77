export { ArrivalHistory, type RecordedArrivals } from "./arrival-history.ts";
export { decodeArrivals, encodeArrivals } from "./arrival-storage.ts";
export { EXCLUDED, type FitNode, FitTable, type NodeRoom } from "./fit-table.ts";
export { largestFirst, type PendingGroup, type PodGroup, pendingGroups, resourcesOf, shapeKey } from "./pod-groups.ts";
