import {
  annotations,
  asleepTaint,
  type NodePower,
  nodeTwinKind,
  type Pod,
  type PowerEndpoint,
  type PowerEndpointStatus,
  powerEndpointKind,
  validateForWrite,
} from "../../../core/api/index.ts";
import {
  isControlPlanePod,
  occupiedNodes,
  type PodPromise,
  podPromiseOf,
  selectedNodeOf,
  wouldBeLost,
} from "../../../core/demand/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import {
  comesAfter,
  isApiError,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
  stoppedBy,
} from "../../../platform/kube/index.ts";
import {
  isAsleepTaint,
  type NodeView,
  type ObservedNode,
  observedNode,
  ownTwin,
  readEndpoint,
  readTwin,
} from "../watch/cluster-view.ts";

const CALL = { timeout: milliseconds(10_000), retries: 0 } as const;

type Tainted = KubeObject & { readonly spec?: { readonly taints?: readonly { key: string; effect: string }[] } };
type CountedPod = KubeObject & Pod;

const MAX_PENDING = 10_000;
const PAGE = 500;
/** Claims of more namespaces than this are read with one list of all. */
const MAX_NAMESPACES = 10;

interface PendingPod {
  readonly name: string;
  readonly namespace: string;
  readonly promise: PodPromise;
}

export interface PodsOnNode {
  /** Names of the pods that would be lost: all except finished pods, DaemonSet pods and mirror pods. */
  readonly lost: readonly string[];
  readonly controlPlane: string | undefined;
}

export interface NodeApiOptions {
  readonly client: KubeClient;
  /** Checked right before each write: a replica that lost its lease writes nothing more. */
  readonly mayWrite: () => boolean;
  readonly namespace: string;
}

export class NodeApi {
  readonly #client: KubeClient;
  readonly #mayWrite: () => boolean;
  readonly #namespace: string;
  /** The version of each Node in which this program last set or removed the taint, until the watch is as new. */
  readonly #writtenAt = new Map<string, string>();

  constructor({ client, mayWrite, namespace }: NodeApiOptions) {
    this.#client = client;
    this.#namespace = namespace;
    this.#mayWrite = mayWrite;
  }

  forget(name: string): void {
    this.#writtenAt.delete(name);
  }

  /**
   * The Node of the watch. A taint in it that is older than this program's last write of the taint does not count: it was removed
   * since, and a new one counts only when the watch shows it.
   */
  withoutFormerTaint(node: ObservedNode): ObservedNode {
    const writtenAt = this.#writtenAt.get(node.name);
    if (writtenAt === undefined) return node;
    if (comesAfter(writtenAt, node.resourceVersion) === true) return { ...node, tainted: false };
    this.#writtenAt.delete(node.name);
    return node;
  }

  /** Taints are one list, so the write names the version of the Node that it read. */
  async setTaint(name: string, wanted: boolean, signal: AbortSignal): Promise<void> {
    let node = await this.#client.get<Tainted>(resources.nodes, { name }, { ...CALL, signal });
    const present = node.spec?.taints ?? [];
    const isChange = present.some(isAsleepTaint) !== wanted;
    if (isChange) {
      const taints = wanted ? [...present, asleepTaint] : present.filter((taint) => !isAsleepTaint(taint));
      const { resourceVersion } = node.metadata;
      const patch = { metadata: { resourceVersion }, spec: { taints } };
      node = await this.#client.mergePatch<Tainted>(resources.nodes, { name }, patch, this.#writing(signal));
    }
    // A taint that is there already is awaited no longer than before, however often the Node changes meanwhile.
    const isAwaited = wanted && !isChange && this.#writtenAt.has(name);
    if (!isAwaited) this.#writtenAt.set(name, node.metadata.resourceVersion ?? "");
  }

  /**
   * Writes the status to this version of the PowerEndpoint and to no later one, because the phase of the node follows from it: a
   * write that was decided on an older status would undo a step. Rejects with a conflict otherwise.
   */
  async writeStatus(
    { metadata: { name, resourceVersion } }: PowerEndpoint,
    status: PowerEndpointStatus,
    signal: AbortSignal,
  ): Promise<PowerEndpoint> {
    const { metadata: _, ...fields } = validateForWrite(powerEndpointKind, { metadata: { name }, status });
    const manifest = { ...fields, metadata: { name, resourceVersion } };
    const options = { ...this.#writing(signal), force: true, subresource: "status" } as const;
    return readEndpoint(await this.#client.apply(resources.powerEndpoints, { name }, manifest, options));
  }

  /**
   * Returns the version of the NodeTwin, or undefined if it does not exist any more. It names no version: the agent and the operator
   * write the same status often, each its own fields, and a stale state is written again as soon as the watch shows it.
   */
  async writeTwinPower(name: string, power: NodePower, signal: AbortSignal): Promise<string | undefined> {
    const { metadata: _, ...manifest } = validateForWrite(nodeTwinKind, { metadata: { name }, status: { power } });
    const options = { ...this.#writing(signal), force: true, subresource: "status" } as const;
    try {
      const { metadata } = await this.#client.apply(resources.nodeTwins, { name }, { ...manifest }, options);
      return metadata.resourceVersion ?? "";
    } catch (error) {
      if (isApiError(error, "notFound")) return undefined;
      throw error;
    }
  }

  async clearRequest(
    name: string,
    request: typeof annotations.testPower | typeof annotations.wake,
    signal: AbortSignal,
  ): Promise<PowerEndpoint> {
    const patch = { metadata: { annotations: { [request]: null } } };
    return readEndpoint(
      await this.#client.mergePatch(resources.powerEndpoints, { name }, patch, this.#writing(signal)),
    );
  }

  /** The pods on the node. The list is read from etcd, and must not be older than the version of the Node in which the watch showed the taint. */
  async podsOn(name: string, taintedAt: string, signal: AbortSignal): Promise<PodsOnNode> {
    const selection = { fieldSelector: `spec.nodeName=${name}` };
    const { items, resourceVersion } = await this.#client.listAll<CountedPod>(resources.pods, selection, {
      ...CALL,
      signal,
      lean: true,
    });
    if (comesAfter(taintedAt, resourceVersion) === true)
      throw new Error(`the list of pods on ${name} is older than its taint`);
    const controlPlane = items.find(isControlPlanePod);
    return { lost: items.filter(wouldBeLost).map(nameOf), controlPlane: controlPlane && nameOf(controlPlane) };
  }

  /**
   * Names of the pods without a node that a scheduler has promised to this one. It binds them without another look at the taint.
   * Read this before `podsOn`: a pod that is bound between the two is then in the second one.
   */
  async podsPromisedTo(name: string, signal: AbortSignal): Promise<readonly string[]> {
    const pending = await this.#pendingPods(signal);
    const selected = await this.#selectedNodes(pending, signal);
    return pending
      .filter(({ promise }) => occupiedNodes({ node: undefined, promise }, (claim) => selected.get(claim)).has(name))
      .map((pod) => `${pod.namespace}/${pod.name}`);
  }

  /** Pods without a node that have a nomination or claims. */
  async #pendingPods(signal: AbortSignal): Promise<readonly PendingPod[]> {
    const pending: PendingPod[] = [];
    const fieldSelector = "spec.nodeName=,status.phase!=Succeeded,status.phase!=Failed";
    let next: string | undefined;
    for (let read = 0; read < MAX_PENDING; read += PAGE) {
      const query = { fieldSelector, limit: PAGE, ...(next !== undefined && { next }) };
      const page = await this.#client.list<CountedPod>(resources.pods, query, { ...CALL, signal, lean: true });
      for (const pod of page.items) {
        const promise = wouldBeLost(pod) ? podPromiseOf(pod) : undefined;
        const { name, namespace = "" } = pod.metadata;
        if (promise !== undefined) pending.push({ name, namespace, promise });
      }
      next = page.next;
      if (next === undefined) return pending;
    }
    throw new Error(`more than ${MAX_PENDING} pods are pending: no machine is switched off`);
  }

  async #selectedNodes(pods: readonly PendingPod[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const withClaims = pods.filter(({ promise }) => promise.claims.length > 0);
    const namespaces = Array.from(new Set(withClaims.map(({ namespace }) => namespace)));
    const selections = namespaces.length > MAX_NAMESPACES ? [{}] : namespaces.map((namespace) => ({ namespace }));
    const selected = new Map<string, string>();
    for (const selection of selections)
      await this.#client.listOf(
        resources.persistentVolumeClaims,
        (claim) => {
          const node = selectedNodeOf(claim)?.node;
          if (node !== undefined) selected.set(nameOf(claim), node);
        },
        selection,
        { ...CALL, signal, lean: true },
      );
    return selected;
  }

  async stopReason(signal: AbortSignal): Promise<string | undefined> {
    const selection = { fieldSelector: `metadata.name=${this.#namespace}` };
    try {
      const { items } = await this.#client.listAll(resources.namespaces, selection, { ...CALL, signal });
      const isStopped = items.some(({ metadata }) => metadata.annotations?.[annotations.stop] === "true");
      return isStopped ? stoppedBy(this.#namespace) : undefined;
    } catch (error) {
      if (isApiError(error, "forbidden")) return undefined;
      throw error;
    }
  }

  async endpoint(name: string, signal: AbortSignal): Promise<PowerEndpoint | undefined> {
    const found = await this.#find(resources.powerEndpoints, name, signal);
    return found && readEndpoint(found);
  }

  /** The node as the API server knows it now, whatever the watches say. */
  async freshView(name: string, signal: AbortSignal): Promise<NodeView> {
    const [endpoint, node, twin] = await Promise.all([
      this.endpoint(name, signal),
      this.#find(resources.nodes, name, signal),
      this.#find(resources.nodeTwins, name, signal),
    ]);
    const observed = node && observedNode(node);
    return {
      name,
      endpoint,
      node: observed,
      twin: ownTwin(observed, twin && readTwin(twin)),
    };
  }

  async #find(resource: Resource, name: string, signal: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return await this.#client.get(resource, { name }, { ...CALL, signal });
    } catch (error) {
      if (isApiError(error, "notFound")) return undefined;
      throw error;
    }
  }

  #writing(signal: AbortSignal) {
    const beforeSending = () => {
      if (!this.#mayWrite()) throw new Error("this replica does not lead any more");
    };
    return { ...CALL, signal, beforeSending };
  }
}

const nameOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;
