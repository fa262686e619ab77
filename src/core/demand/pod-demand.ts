import type { Container, Pod } from "../api/index.ts";
import { addQuantities, amountOf } from "./fit-requests.ts";
import { isGpuResource } from "./gpu-boards.ts";
import { itemsOf, specOf } from "./pod-parts.ts";

/** The resources that a running pod is expected to use: the basis of its marginal watts. */
export interface PodDemand {
  readonly cpuCores: number;
  /** By resource name, as the pod requests them. The number of boards depends on the node. */
  readonly gpus: ReadonlyMap<string, number>;
}

/** Sums containers and sidecars, by their CPU requests, else limits. Init containers end before their power matters. */
export function demandOf(pod: Pod): PodDemand {
  const spec = specOf(pod);
  const gpus = new Map<string, number>();
  let cpuCores: number | undefined;
  for (const { resources } of [...itemsOf(spec.containers), ...itemsOf(spec.initContainers).filter(isSidecar)]) {
    const cores = cpuOf(resources);
    if (cores !== undefined) cpuCores = addQuantities(cpuCores ?? 0, cores);
    for (const resource of Object.keys({ ...resources?.limits, ...resources?.requests })) {
      if (!isGpuResource(resource)) continue;
      const count = amountOf(resources?.limits, resource) ?? amountOf(resources?.requests, resource) ?? 0;
      if (count > 0) gpus.set(resource, addQuantities(gpus.get(resource) ?? 0, count));
    }
  }
  return {
    // Otherwise a pod with only a pod-level CPU request would seem to cost nothing.
    cpuCores: cpuCores ?? cpuOf(spec.resources) ?? 0,
    gpus: gpus.size === 0 ? noGpus : gpus,
  };
}

/** Shared by all pods: a cluster stores the demand of every pod, and few pods request GPUs. */
const noGpus: PodDemand["gpus"] = new Map();

const isSidecar = ({ restartPolicy }: Container) => restartPolicy === "Always";

const cpuOf = (resources: Container["resources"]): number | undefined =>
  amountOf(resources?.requests, "cpu") ?? amountOf(resources?.limits, "cpu");
