import type { Container, Pod } from "../api/index.ts";
import { gpuResourceOf } from "./gpu-resource.ts";
import { addQuantities, QuantityReader, type UnreadableQuantity } from "./quantities.ts";

/** What a pod is expected to keep busy while it runs: the basis of its marginal watts. */
export interface PodDemand {
  readonly cpuCores: number;
  /** By resource name, as the pod asks for them; how many boards that is depends on the node. */
  readonly gpus: ReadonlyMap<string, number>;
  readonly unreadable: readonly UnreadableQuantity[];
}

/**
 * Containers plus sidecars: init containers are gone by the time the power matters. A container without a CPU request
 * counts with its limit, else with nothing. There is no memory factor.
 */
export function demandOf({ spec }: Pod): PodDemand {
  const reader = new QuantityReader();
  const running = [...(spec.containers ?? []), ...(spec.initContainers ?? []).filter(isSidecar)];
  const gpus = new Map<string, number>();
  let cpuCores: number | undefined;
  for (const { resources } of running) {
    const cores = cpuOf(resources, reader);
    if (cores !== undefined) cpuCores = addQuantities(cpuCores ?? 0, cores);
    for (const resource of new Set([
      ...Object.keys(resources?.limits ?? {}),
      ...Object.keys(resources?.requests ?? {}),
    ])) {
      if (gpuResourceOf(resource) === undefined) continue;
      const count = reader.amount(resources?.limits, resource) ?? reader.amount(resources?.requests, resource) ?? 0;
      if (count > 0) gpus.set(resource, addQuantities(gpus.get(resource) ?? 0, count));
    }
  }
  // A pod that states its CPU only as a whole would otherwise seem to cost nothing.
  return { cpuCores: cpuCores ?? cpuOf(spec.resources, reader) ?? 0, gpus, unreadable: reader.unreadable };
}

const isSidecar = ({ restartPolicy }: Container) => restartPolicy === "Always";

const cpuOf = (resources: Container["resources"], reader: QuantityReader): number | undefined =>
  reader.amount(resources?.requests, "cpu") ?? reader.amount(resources?.limits, "cpu");
