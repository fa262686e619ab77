import type { Instant } from "../../../core/units/index.ts";
import type { KubeObject } from "../../../platform/kube/index.ts";
import type { MachineSpec } from "../machines/machine-specs.ts";
import { fleetLabels, systemUuidOf } from "../names.ts";

const stamp = (at: Instant): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** Typical for large nodes. */
const PODS = "250";
/** A valid Kubernetes version with a suffix, for scripts that parse it. */
const VERSION = "v1.36.0-simulated";

const CONDITIONS = [
  ["MemoryPressure", "False", "KubeletHasSufficientMemory"],
  ["DiskPressure", "False", "KubeletHasNoDiskPressure"],
  ["PIDPressure", "False", "KubeletHasSufficientPID"],
  ["Ready", "True", "KubeletReady"],
] as const;

/** Of a kubelet that shuts down with its machine. */
const SHUTTING_DOWN = { status: "False", reason: "KubeletNotReady", message: "node is shutting down" };

/** Node status as a kubelet writes it; `since` is the last transition time. */
export function nodeStatus({ name, cores, memoryGi, gpus }: MachineSpec, at: Instant, since = at, isReady = true) {
  const capacity = {
    cpu: String(cores),
    memory: `${memoryGi}Gi`,
    pods: PODS,
    ...(gpus && { [gpus.resource]: String(gpus.count) }),
  };
  return {
    capacity,
    allocatable: capacity,
    addresses: [{ type: "Hostname", address: name }],
    conditions: CONDITIONS.map(([type, status, reason]) => ({
      type,
      status,
      reason,
      lastHeartbeatTime: stamp(at),
      lastTransitionTime: stamp(since),
      ...(type === "Ready" && !isReady && SHUTTING_DOWN),
    })),
    nodeInfo: {
      architecture: "amd64",
      operatingSystem: "linux",
      kubeletVersion: VERSION,
      kubeProxyVersion: "",
      osImage: "simulated",
      kernelVersion: "simulated",
      containerRuntimeVersion: "simulated://1",
      machineID: "",
      systemUUID: systemUuidOf(name),
      bootID: "",
    },
  };
}

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** A Node that existed before registration. */
export interface ExistingNode extends KubeObject {
  readonly spec?: { readonly taints?: readonly Taint[] };
}

/** Our taint, plus existing taints of others. */
export const taintsOf = (tainted: boolean, found: readonly Taint[] = []): readonly Taint[] => [
  ...found.filter(({ key }) => key !== fleetLabels.simulated),
  ...(tainted ? [{ key: fleetLabels.simulated, value: "true", effect: "NoSchedule" }] : []),
];

export const nodeManifest = (spec: MachineSpec, at: Instant, tainted: boolean) => ({
  metadata: { name: spec.name, labels: spec.labels },
  spec: { taints: taintsOf(tainted) },
  status: nodeStatus(spec, at),
});

/** The node's Lease, owned by the Node and deleted with it. */
export const leaseManifest = (name: string, uid: string, renewTime: string, seconds: number) => ({
  metadata: {
    name,
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }],
  },
  spec: { holderIdentity: name, leaseDurationSeconds: seconds, renewTime },
});
