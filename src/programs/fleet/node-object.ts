import type { Instant } from "../../core/units/index.ts";
import type { KubeObject } from "../../platform/kube/index.ts";
import type { MachineSpec } from "./machine-specs.ts";
import { labels } from "./names.ts";

const stamp = (at: Instant): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** As many pods as large nodes take. */
const PODS = "250";
/** Of the real server's name, with a mark: scripts that look for a version find one. */
const VERSION = "v1.36.0-simulated";

const CONDITIONS = [
  ["MemoryPressure", "False", "KubeletHasSufficientMemory"],
  ["DiskPressure", "False", "KubeletHasNoDiskPressure"],
  ["PIDPressure", "False", "KubeletHasSufficientPID"],
  ["Ready", "True", "KubeletReady"],
] as const;

/** What a kubelet says of its node; `since` when it has been so. */
export function nodeStatus({ name, cores, memoryGi, gpus }: MachineSpec, at: Instant, since = at) {
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
      systemUUID: "",
      bootID: "",
    },
  };
}

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** A Node that was there already. */
export interface ExistingNode extends KubeObject {
  readonly spec?: { readonly taints?: readonly Taint[] };
}

/** Ours, and those of others beside it. */
export const taintsOf = (tainted: boolean, found: readonly Taint[] = []): readonly Taint[] => [
  ...found.filter(({ key }) => key !== labels.simulated),
  ...(tainted ? [{ key: labels.simulated, value: "true", effect: "NoSchedule" }] : []),
];

export const nodeManifest = (spec: MachineSpec, at: Instant, tainted: boolean) => ({
  metadata: { name: spec.name, labels: spec.labels },
  spec: { taints: taintsOf(tainted) },
  status: nodeStatus(spec, at),
});

/** Its heartbeat, which goes when the Node goes. */
export const leaseManifest = (name: string, uid: string, renewTime: string, seconds: number) => ({
  metadata: {
    name,
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }],
  },
  spec: { holderIdentity: name, leaseDurationSeconds: seconds, renewTime },
});

/** Leases count microseconds. */
export const microTime = (at: Instant): string => new Date(at).toISOString().replace("Z", "000Z");
