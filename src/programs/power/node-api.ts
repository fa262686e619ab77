import {
  annotations,
  asleepTaint,
  type NodePower,
  nodeTwinKind,
  type PowerEndpoint,
  type PowerEndpointStatus,
  powerEndpointKind,
  validateForWrite,
} from "../../core/api/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { comesAfter, isApiError, type KubeClient, type KubeObject, resources } from "../../platform/kube/index.ts";
import {
  isAsleepTaint,
  type NodeView,
  type ObservedNode,
  observedNode,
  ownTwin,
  readEndpoint,
  readTwin,
} from "./cluster-view.ts";

const CALL = { timeout: milliseconds(10_000), retries: 0 } as const;

type Tainted = KubeObject & { readonly spec?: { readonly taints?: readonly { key: string; effect: string }[] } };
type CountedPod = KubeObject & { readonly status?: { readonly phase?: string } };

export interface NodeApiOptions {
  readonly client: KubeClient;
  /** Checked right before each write: a replica that lost its lease writes nothing more. */
  readonly mayWrite: () => boolean;
}

/** The calls of the power program to the Kubernetes API. */
export class NodeApi {
  readonly #client: KubeClient;
  readonly #mayWrite: () => boolean;
  /** The version of each Node as of which this program saw that it has no taint, until the watch is as new. */
  readonly #untaintedAt = new Map<string, string>();

  constructor({ client, mayWrite }: NodeApiOptions) {
    this.#client = client;
    this.#mayWrite = mayWrite;
  }

  forget(name: string): void {
    this.#untaintedAt.delete(name);
  }

  /** The Node of the watch, without a taint that this program has removed meanwhile. A new taint counts only if the watch shows it. */
  withoutRemovedTaint(node: ObservedNode): ObservedNode {
    const untaintedAt = this.#untaintedAt.get(node.name);
    if (untaintedAt === undefined) return node;
    if (comesAfter(untaintedAt, node.resourceVersion) === true) return { ...node, tainted: false };
    this.#untaintedAt.delete(node.name);
    return node;
  }

  /** Taints are one list, so the write names the version of the Node that it read. */
  async setTaint(name: string, wanted: boolean, signal: AbortSignal): Promise<void> {
    this.#untaintedAt.delete(name);
    let node = await this.#client.get<Tainted>(resources.nodes, { name }, { ...CALL, signal });
    const present = node.spec?.taints ?? [];
    if (present.some(isAsleepTaint) !== wanted) {
      const taints = wanted ? [...present, asleepTaint] : present.filter((taint) => !isAsleepTaint(taint));
      const { resourceVersion } = node.metadata;
      const patch = { metadata: { resourceVersion }, spec: { taints } };
      node = await this.#client.mergePatch<Tainted>(resources.nodes, { name }, patch, this.#writing(signal));
    }
    if (!wanted) this.#untaintedAt.set(name, node.metadata.resourceVersion ?? "");
  }

  async writeStatus(name: string, status: PowerEndpointStatus, signal: AbortSignal): Promise<PowerEndpoint> {
    const { metadata: _, ...manifest } = validateForWrite(powerEndpointKind, { metadata: { name }, status });
    const options = { ...this.#writing(signal), force: true, subresource: "status" } as const;
    return readEndpoint(await this.#client.apply(resources.powerEndpoints, { name }, { ...manifest }, options));
  }

  /** Returns false if the NodeTwin does not exist any more. */
  async writeTwinPower(name: string, power: NodePower, signal: AbortSignal): Promise<boolean> {
    const { metadata: _, ...manifest } = validateForWrite(nodeTwinKind, { metadata: { name }, status: { power } });
    const options = { ...this.#writing(signal), force: true, subresource: "status" } as const;
    try {
      await this.#client.apply(resources.nodeTwins, { name }, { ...manifest }, options);
      return true;
    } catch (error) {
      if (isApiError(error, "notFound")) return false;
      throw error;
    }
  }

  async clearTest(name: string, signal: AbortSignal): Promise<PowerEndpoint> {
    const patch = { metadata: { annotations: { [annotations.testPower]: null } } };
    return readEndpoint(
      await this.#client.mergePatch(resources.powerEndpoints, { name }, patch, this.#writing(signal)),
    );
  }

  /**
   * Names of the pods on the node that would be lost: all except finished pods, DaemonSet pods and mirror pods. The list is read
   * from etcd, and must not be older than the version of the Node in which the watch showed the taint.
   */
  async podsOn(name: string, taintedAt: string, signal: AbortSignal): Promise<readonly string[]> {
    const selection = { fieldSelector: `spec.nodeName=${name}` };
    const { items, resourceVersion } = await this.#client.listAll<CountedPod>(resources.pods, selection, {
      ...CALL,
      signal,
    });
    if (comesAfter(taintedAt, resourceVersion) === true)
      throw new Error(`the list of pods on ${name} is older than its taint`);
    return items.filter(wouldBeLost).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  }

  /** The node as the API server knows it now, whatever the watches say. */
  async freshView(name: string, signal: AbortSignal): Promise<NodeView> {
    const find = async (resource: (typeof resources)["nodes"]) => {
      try {
        return await this.#client.get(resource, { name }, { ...CALL, signal });
      } catch (error) {
        if (isApiError(error, "notFound")) return undefined;
        throw error;
      }
    };
    const [endpoint, node, twin] = await Promise.all([
      find(resources.powerEndpoints),
      find(resources.nodes),
      find(resources.nodeTwins),
    ]);
    const observed = node && observedNode(node);
    return {
      name,
      endpoint: endpoint && readEndpoint(endpoint),
      node: observed,
      twin: ownTwin(observed, twin && readTwin(twin)),
    };
  }

  #writing(signal: AbortSignal) {
    const beforeSending = () => {
      if (!this.#mayWrite()) throw new Error("this replica does not lead any more");
    };
    return { ...CALL, signal, beforeSending };
  }
}

function wouldBeLost({ metadata, status }: CountedPod): boolean {
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return false;
  if (metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined) return false;
  const owners = metadata["ownerReferences"];
  return !(Array.isArray(owners) && owners.some(isDaemonSet));
}

const isDaemonSet = (owner: unknown): boolean =>
  typeof owner === "object" &&
  owner !== null &&
  "kind" in owner &&
  owner.kind === "DaemonSet" &&
  "controller" in owner &&
  owner.controller === true;
