import { coreEvents, events } from "./events.ts";
import { leases, namespaces } from "./namespaces-and-leases.ts";
import { nodes } from "./nodes.ts";
import { pods } from "./pods.ts";
import type { ServedResource } from "./served-resource.ts";
import { configMaps, persistentVolumeClaims, persistentVolumes } from "./storage-kinds.ts";
import { deployments, jobs, replicaSets } from "./workload-kinds.ts";

/** Kinds that are always served; the registry adds CustomResourceDefinition itself. */
export const builtInKinds: readonly ServedResource[] = [
  namespaces,
  nodes,
  pods,
  coreEvents,
  leases,
  events,
  configMaps,
  persistentVolumes,
  persistentVolumeClaims,
  deployments,
  replicaSets,
  jobs,
];
