import type { Node } from "../../../core/api/index.ts";
import type { SnapshotNode } from "../../../core/planning/index.ts";
import type { KubeObject } from "../../../platform/kube/index.ts";

/** The few fields that planning reads. 5,000 whole Nodes would take 60 MB. */
export function clusterNodeOf(object: KubeObject): SnapshotNode {
  const { metadata, spec, status } = object as KubeObject & Node;
  const { name, uid = "", resourceVersion = "", labels } = metadata as KubeObject["metadata"];
  const unready = status?.conditions?.filter((one) => one.type === "Ready" && one.status !== "True") ?? [];
  const taints =
    spec?.taints?.map(({ key, value, effect }) => ({ key, ...(value !== undefined && { value }), effect })) ?? [];
  return {
    metadata: { name, uid, resourceVersion, ...(labels && { labels }) },
    ...((spec?.unschedulable === true || taints.length > 0) && {
      spec: {
        ...(spec?.unschedulable === true && { unschedulable: true }),
        ...(taints.length > 0 && { taints }),
      },
    }),
    status: {
      ...(status?.capacity && { capacity: status.capacity }),
      ...(status?.allocatable && { allocatable: status.allocatable }),
      // Without the kubelet's timestamps, so that a heartbeat is no change.
      ...(unready.length > 0 && { conditions: unready.map(({ type, status: is }) => ({ type, status: is })) }),
    },
  };
}
