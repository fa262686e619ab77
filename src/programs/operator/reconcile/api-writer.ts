import {
  labels,
  managedByOperator,
  type NodeTwin,
  nodePowerProfileKind,
  nodeTwinKind,
  type OwnerReference,
  validateForWrite,
} from "../../../core/api/index.ts";
import type { Leftovers } from "../../../core/planning/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import {
  isApiError,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from "../../../platform/kube/index.ts";
import type { ClusterState } from "../observe/cluster-state.ts";
import type { WriteStep } from "./diff.ts";

/** One short try: what is to be written may be another by the next one, and only the writer knows. */
const CALL = { timeout: milliseconds(10_000), retries: 0, lean: true } as const;

export interface ApiWriterOptions {
  readonly client: KubeClient;
  readonly state: ClusterState;
  /** Looked at right before each write: whoever lost the lease writes nothing more. */
  readonly mayWrite: () => boolean;
}

export interface SendOptions {
  readonly signal: AbortSignal;
  /** Asked when nothing is left to wait for; what it throws keeps the step from being sent. */
  readonly beforeSending?: () => void;
}

/** What was to be written is not wanted any more. */
export class WriteSuperseded extends Error {}

/** The writes of a step, one by one; each object goes through the strict check first, and each answer into the state. */
export class ApiWriter {
  readonly #client: KubeClient;
  readonly #state: ClusterState;
  readonly #mayWrite: () => boolean;

  constructor({ client, state, mayWrite }: ApiWriterOptions) {
    this.#client = client;
    this.#state = state;
    this.#mayWrite = mayWrite;
  }

  async send(name: string, step: WriteStep, own: SendOptions): Promise<void> {
    const options = this.#call(own);
    switch (step.kind) {
      case "spec": {
        const metadata = { name, ownerReferences: owner(name, step), ...versionOf(step) };
        const twin = validateForWrite(nodeTwinKind, { metadata, spec: step.spec });
        const answer = await this.#client.apply(
          resources.nodeTwins,
          { name },
          { ...twin },
          { ...options, force: true },
        );
        this.#state.recordTwinResponse(answer, "spec");
        const exact = await this.#withoutSurplus(answer, twin.spec, own.signal);
        if (exact !== answer) this.#state.recordTwinResponse(exact, "spec");
        return;
      }
      case "status": {
        // Without controlStatus: that is the agent's, and an apply leaves it as it is.
        const { metadata: _, ...twin } = validateForWrite(nodeTwinKind, { metadata: { name }, status: step.status });
        this.#state.recordTwinResponse(
          await this.#client.apply(resources.nodeTwins, { name }, twin, {
            ...options,
            force: true,
            subresource: "status",
          }),
          "status",
        );
        return;
      }
      case "labels":
        this.#state.recordNodeResponse(await this.#label(name, step.labels, own), step.labels);
        return;
      case "mirror":
        await this.#mirror(name, step, own);
        return;
      case "unmirror":
        await this.#delete(resources.nodePowerProfiles, name, step.uid, own);
    }
  }

  /** An apply leaves what others have added, such as a second, lower cap: a target has no more in it than we say. */
  async #withoutSurplus(answer: KubeObject, sent: NodeTwin["spec"], signal: AbortSignal): Promise<KubeObject> {
    const spec = surplusOf(specIn(answer), sent);
    if (spec === undefined) return answer;
    const { name, resourceVersion } = answer.metadata;
    const patch = { metadata: { resourceVersion }, spec };
    // Without asking what the step itself asks: no caps go down by this.
    const exact = await this.#client.mergePatch(resources.nodeTwins, { name }, patch, this.#call({ signal }));
    if (surplusOf(specIn(exact), sent) === undefined) return exact;
    throw new Error(`NodeTwin ${name}: what others added to its spec comes back: ${JSON.stringify(spec)}`);
  }

  /** The node's pods as the server has them at this moment: a watch that is silent may be behind. */
  async performancePodsOn(name: string, signal: AbortSignal): Promise<number> {
    const selection = { fieldSelector: `spec.nodeName=${name}` };
    const { items } = await this.#client.listAll(resources.pods, selection, { ...CALL, signal });
    const pods = items.map((pod) => this.#state.podOf(pod));
    return pods.filter(({ active, performanceSensitive }) => active && performanceSensitive).length;
  }

  /** The twin goes last: as long as it is there, the rest is still found. */
  async removeLeftovers(name: string, left: Leftovers, own: SendOptions): Promise<void> {
    if (left.labels.length > 0) {
      const none = Object.fromEntries(left.labels.map((key) => [key, null]));
      try {
        this.#state.recordNodeResponse(await this.#label(name, none, own), none);
      } catch (error) {
        if (!isApiError(error, "notFound")) throw error;
      }
    }
    await this.#delete(resources.nodeHardwares, name, left.hardware, own);
    await this.#delete(resources.nodePowerProfiles, name, left.mirror, own);
    await this.#delete(resources.nodeTwins, name, left.twin, own);
    if (left.twin !== undefined) this.#state.recordTwinDeletion(name);
  }

  /** Only our keys: other labels of the node are somebody else's. */
  async #label(name: string, wanted: Readonly<Record<string, string | null>>, own: SendOptions) {
    return this.#client.mergePatch<KubeObject>(
      resources.nodes,
      { name },
      { metadata: { labels: wanted } },
      this.#call(own),
    );
  }

  /** Made only where there is none, and changed only as it was seen: between two looks a person may have pinned the node. */
  async #mirror(name: string, step: Extract<WriteStep, { kind: "mirror" }>, own: SendOptions): Promise<void> {
    const { resourceVersion } = step;
    const metadata = {
      name,
      labels: { [labels.managedBy]: managedByOperator },
      ownerReferences: owner(name, step),
      ...versionOf(step),
    };
    const profile = validateForWrite(nodePowerProfileKind, { metadata, spec: { ...step.spec, nodeName: name } });
    const options = this.#call(own);
    const answer =
      resourceVersion === undefined
        ? await this.#client.create(resources.nodePowerProfiles, profile, options)
        : await this.#client.apply(resources.nodePowerProfiles, { name }, profile, { ...options, force: true });
    this.#state.recordProfileResponse(answer);
  }

  async #delete(resource: Resource, name: string, uid: string | undefined, own: SendOptions): Promise<void> {
    if (uid === undefined) return;
    try {
      await this.#client.delete(resource, { name }, { ...this.#call(own), preconditions: { uid } });
    } catch (error) {
      // Gone already, or another object of the same name by now.
      if (!isApiError(error, "notFound", "conflict")) throw error;
    }
  }

  #call({ signal, beforeSending }: SendOptions) {
    const mustBeWanted = () => {
      if (!this.#mayWrite()) throw new WriteSuperseded();
      beforeSending?.();
    };
    return { ...CALL, signal, beforeSending: mustBeWanted };
  }
}

const specIn = (object: KubeObject): unknown => (object as { readonly spec?: unknown }).spec;

/** As a merge patch that removes it; undefined where there is none. */
function surplusOf(there: unknown, wanted: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isFields(there) || !isFields(wanted)) return undefined;
  const surplus = Object.entries(there).flatMap(([key, value]): [string, unknown][] => {
    if (wanted[key] === undefined) return [[key, null]];
    const inner = surplusOf(value, wanted[key]);
    return inner === undefined ? [] : [[key, inner]];
  });
  return surplus.length === 0 ? undefined : Object.fromEntries(surplus);
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const owner = (name: string, { nodeUid: uid }: { readonly nodeUid: string }): OwnerReference[] => [
  { apiVersion: "v1", kind: "Node", name, uid },
];

const versionOf = ({ resourceVersion }: { readonly resourceVersion?: string | undefined }) =>
  resourceVersion === undefined ? {} : { resourceVersion };
