import { CodedError } from "../../../core/api/index.ts";
import type { Instant, Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeClient, type KubeObject, microTime, resources } from "../../../platform/kube/index.ts";
import type { MachineSpec } from "../machines/machine-specs.ts";
import { fleetLabels, systemUuidOf } from "../names.ts";
import { deleteIfUnchanged, isUidConflict } from "../pods/deletion.ts";

export interface NodeWriterOptions {
  readonly client: KubeClient;
  /** Simulated time, used in node status. */
  readonly clock: Clock;
  /** Real time, used for leases. */
  readonly ioClock: Clock;
  readonly tainted: boolean;
  readonly heartbeat: Milliseconds;
}

export interface RegisteredNode {
  readonly uid: string;
  readonly since: Instant;
}

const LEASES = "kube-node-lease";
/** Lease duration in heartbeat intervals, as the kubelet sets it. */
const LEASE_LENGTH = 4;

/** Writes Nodes and Leases. Every write names the uid, so it never changes another object of the same name. */
export class NodeWriter {
  readonly #options: NodeWriterOptions;

  constructor(options: NodeWriterOptions) {
    this.#options = options;
  }

  /** Creates the Node or takes over one created by an earlier fleet; otherwise rejects with a ForeignNode. */
  async ensureNode(spec: MachineSpec, signal: AbortSignal): Promise<RegisteredNode> {
    const { client, clock, tainted } = this.#options;
    const { name } = spec;
    const since = clock.now();
    const options = { signal, lean: true };
    try {
      const { metadata } = await client.create(resources.nodes, nodeManifest(spec, since, tainted), options);
      return { uid: metadata.uid ?? "", since };
    } catch (error) {
      if (!isApiError(error, "alreadyExists")) throw error;
    }
    const found = await client.get<ExistingNode>(resources.nodes, { name }, options);
    const { uid = "", resourceVersion } = found.metadata;
    if (found.metadata.labels?.[fleetLabels.simulated] !== "true") throw new ForeignNodeError(name);
    // The Node was left by an earlier run, or the response to our create was lost. Taints of others are kept, for
    // example a cordon.
    const taints = taintsOf(tainted, found.spec?.taints);
    const patch = { metadata: { uid, resourceVersion, labels: spec.labels }, spec: { taints } };
    await client.mergePatch(resources.nodes, { name }, patch, options);
    const status = { metadata: { uid }, status: nodeStatus(spec, since) };
    await client.mergePatch(resources.nodes, { name }, status, { ...options, subresource: "status" });
    return { uid, since };
  }

  /** Rewrites the Ready condition. Returns false if the Node no longer exists. */
  async writeStatus(
    spec: MachineSpec,
    { uid, since }: RegisteredNode,
    signal: AbortSignal,
    isReady = true,
  ): Promise<boolean> {
    const { client, clock } = this.#options;
    const { name } = spec;
    const patch = { metadata: { uid }, status: nodeStatus(spec, clock.now(), since, isReady) };
    try {
      await client.mergePatch(resources.nodes, { name }, patch, { signal, lean: true, subresource: "status" });
      return true;
    } catch (error) {
      if (isApiError(error, "notFound") || isUidConflict(error)) return false;
      throw error;
    }
  }

  async ensureLease(name: string, uid: string, signal: AbortSignal): Promise<string> {
    const { client, ioClock, heartbeat } = this.#options;
    const length = Math.ceil((LEASE_LENGTH * heartbeat) / 1000);
    const manifest = leaseManifest(name, uid, microTime(ioClock.now()), length);
    const options = { signal, lean: true };
    try {
      const { metadata } = await client.create(resources.leases, manifest, { namespace: LEASES, ...options });
      return metadata.uid ?? "";
    } catch (error) {
      if (!isApiError(error, "alreadyExists")) throw error;
    }
    const { metadata } = await client.mergePatch(resources.leases, { name, namespace: LEASES }, manifest, options);
    return metadata.uid ?? "";
  }

  /** With its uid: a new Node of the same name has a new Lease that we must not renew. */
  async renew(name: string, uid: string, signal: AbortSignal): Promise<void> {
    const { client, ioClock } = this.#options;
    const patch = { metadata: { uid }, spec: { renewTime: microTime(ioClock.now()) } };
    await client.mergePatch(resources.leases, { name, namespace: LEASES }, patch, { signal, lean: true, retries: 0 });
  }

  async removeNode(name: string, known: RegisteredNode | undefined, signal: AbortSignal): Promise<void> {
    const uid = known?.uid ?? (await this.#lookUp(name, signal));
    if (uid !== undefined) await deleteIfUnchanged(this.#options.client, resources.nodes, { name }, { uid, signal });
  }

  async #lookUp(name: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { metadata } = await this.#options.client.get(resources.nodes, { name }, { signal, lean: true });
      return metadata.labels?.[fleetLabels.simulated] === "true" ? metadata.uid : undefined;
    } catch (error) {
      if (isApiError(error, "notFound")) return undefined;
      throw error;
    }
  }
}

export class ForeignNodeError extends CodedError {
  constructor(name: string) {
    super(
      "JOULIE_E_FOREIGN_NODE",
      `the Node ${name} exists and is not simulated; choose another --node-prefix, or delete the Node`,
    );
  }
}

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

function nodeStatus({ name, cores, memoryGi, gpus }: MachineSpec, at: Instant, since = at, isReady = true) {
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

interface ExistingNode extends KubeObject {
  readonly spec?: { readonly taints?: readonly Taint[] };
}

/** Our taint, plus existing taints of others. */
const taintsOf = (tainted: boolean, found: readonly Taint[] = []): readonly Taint[] => [
  ...found.filter(({ key }) => key !== fleetLabels.simulated),
  ...(tainted ? [{ key: fleetLabels.simulated, value: "true", effect: "NoSchedule" }] : []),
];

export const nodeManifest = (spec: MachineSpec, at: Instant, tainted: boolean) => ({
  metadata: { name: spec.name, labels: spec.labels },
  spec: { taints: taintsOf(tainted) },
  status: nodeStatus(spec, at),
});

const leaseManifest = (name: string, uid: string, renewTime: string, seconds: number) => ({
  metadata: {
    name,
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }],
  },
  spec: { holderIdentity: name, leaseDurationSeconds: seconds, renewTime },
});
