import { coreEvents, events } from "./events.ts";
import { leases, namespaces } from "./namespaces-and-leases.ts";
import { nodes } from "./nodes.ts";
import { pods } from "./pods.ts";
import type { ServedResource } from "./served-resource.ts";

/** Kinds that are served whatever CRDs there are; CRDs themselves come on top. */
export const builtInKinds: readonly ServedResource[] = [namespaces, nodes, pods, coreEvents, leases, events];
