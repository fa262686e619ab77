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
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import {
  isApiError,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from "../../../platform/kube/index.ts";
import type { ClusterState } from "../observe/cluster-state.ts";
import type { WriteStep } from "./diff.ts";

/** No retries by the client: the reconciler retries with the newest plan. */
const CALL = { timeout: milliseconds(10_000), retries: 0, lean: true } as const;

export interface ApiWriterOptions {
  readonly client: KubeClient;
  readonly state: ClusterState;
  /** Checked right before each write: a replica that lost its lease writes nothing more. */
  readonly mayWrite: () => boolean;
}

export interface SendOptions {
  readonly signal: AbortSignal;
  /** Called right before the request is sent. If it throws, nothing is sent. */
  readonly beforeSending?: () => void;
}

/** The write is not wanted any more, because the cluster changed, another writer competes, or the lease was lost. */
export class WriteSuperseded extends Error {
  /** When to look at the node again; undefined: with the next plan. */
  readonly retryAfter: Milliseconds | undefined;

  constructor(retryAfter?: Milliseconds) {
    super("the write was superseded");
    this.retryAfter = retryAfter;
  }
}

/** A step that could not be written; `cause` is the original error. */
export class FailedStep extends Error {
  readonly step: WriteStep["kind"] | "cleanup";

  constructor(step: FailedStep["step"], cause: unknown) {
    super(`${step} was not written`, { cause });
    this.step = step;
  }
}

/** Sends single writes. Every object is validated first, and every response updates the cluster state. */
export class ApiWriter {
  readonly #client: KubeClient;
  readonly #state: ClusterState;
  readonly #mayWrite: () => boolean;

  constructor({ client, state, mayWrite }: ApiWriterOptions) {
    this.#client = client;
    this.#state = state;
    this.#mayWrite = mayWrite;
  }

  async send(name: string, step: WriteStep, sending: SendOptions): Promise<void> {
    const options = this.#call(sending);
    switch (step.kind) {
      case "spec": {
        const metadata = { name, ownerReferences: owner(name, step), ...versionOf(step) };
        const twin = validateForWrite(nodeTwinKind, { metadata, spec: step.spec });
        const response = await this.#client.apply(
          resources.nodeTwins,
          { name },
          { ...twin },
          { ...options, force: true },
        );
        this.#state.recordTwinResponse(response, "spec");
        const exact = await this.#withoutSurplus(response, twin.spec, sending.signal);
        if (exact !== response) this.#state.recordTwinResponse(exact, "spec");
        return;
      }
      case "status": {
        // Without controlStatus and power: the agent and the power program own them, and server-side apply leaves them unchanged.
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
        this.#state.recordNodeResponse(await this.#label(name, step.labels, sending), step.labels);
        return;
      case "mirror":
        await this.#mirror(name, step, sending);
        return;
      case "unmirror":
        await this.#delete(resources.nodePowerProfiles, name, step.uid, sending);
    }
  }

  /** Removes fields that other writers added, such as a second, lower cap: server-side apply leaves them in place. */
  async #withoutSurplus(response: KubeObject, sent: NodeTwin["spec"], signal: AbortSignal): Promise<KubeObject> {
    const spec = surplusOf(specIn(response), sent);
    if (spec === undefined) return response;
    const { name, resourceVersion } = response.metadata;
    const patch = { metadata: { resourceVersion }, spec };
    // Without the checks of the step: this lowers no caps.
    const exact = await this.#client.mergePatch(resources.nodeTwins, { name }, patch, this.#call({ signal }));
    if (surplusOf(specIn(exact), sent) === undefined) return exact;
    throw new Error(`NodeTwin ${name}: another writer keeps re-adding fields to the spec: ${JSON.stringify(spec)}`);
  }

  async performancePodsOn(name: string, signal: AbortSignal): Promise<number> {
    const selection = { fieldSelector: `spec.nodeName=${name}` };
    const { items } = await this.#client.listAll(resources.pods, selection, { ...CALL, signal });
    const pods = items.map((pod) => this.#state.podOf(pod));
    return pods.filter(({ active, performanceSensitive }) => active && performanceSensitive).length;
  }

  /** Deletes the twin last: while it exists, the other leftovers are still found. */
  async removeLeftovers(name: string, leftovers: Leftovers, sending: SendOptions): Promise<void> {
    if (leftovers.labels.length > 0) {
      const none = Object.fromEntries(leftovers.labels.map((key) => [key, null]));
      try {
        this.#state.recordNodeResponse(await this.#label(name, none, sending), none);
      } catch (error) {
        if (!isApiError(error, "notFound")) throw error;
      }
    }
    await this.#delete(resources.nodeHardwares, name, leftovers.hardware, sending);
    await this.#delete(resources.nodePowerProfiles, name, leftovers.mirror, sending);
    await this.#delete(resources.nodeTwins, name, leftovers.twin, sending);
    if (leftovers.twin !== undefined) this.#state.recordTwinDeletion(name);
  }

  async #label(name: string, wanted: Readonly<Record<string, string | null>>, sending: SendOptions) {
    return this.#client.mergePatch<KubeObject>(
      resources.nodes,
      { name },
      { metadata: { labels: wanted } },
      this.#call(sending),
    );
  }

  /** Creates only a missing object and updates only the known version, because a user may have pinned the node meanwhile. */
  async #mirror(name: string, step: Extract<WriteStep, { kind: "mirror" }>, sending: SendOptions): Promise<void> {
    const { resourceVersion } = step;
    const metadata = {
      name,
      labels: { [labels.managedBy]: managedByOperator },
      ownerReferences: owner(name, step),
      ...versionOf(step),
    };
    const profile = validateForWrite(nodePowerProfileKind, { metadata, spec: { ...step.spec, nodeName: name } });
    const options = this.#call(sending);
    const response =
      resourceVersion === undefined
        ? await this.#client.create(resources.nodePowerProfiles, profile, options)
        : await this.#client.apply(resources.nodePowerProfiles, { name }, profile, { ...options, force: true });
    this.#state.recordProfileResponse(response);
  }

  async #delete(resource: Resource, name: string, uid: string | undefined, sending: SendOptions): Promise<void> {
    if (uid === undefined) return;
    try {
      await this.#client.delete(resource, { name }, { ...this.#call(sending), preconditions: { uid } });
    } catch (error) {
      // Already deleted, or replaced by a newer object of the same name.
      if (!isApiError(error, "notFound", "conflict")) throw error;
    }
  }

  #call({ signal, beforeSending }: SendOptions) {
    const checked = () => {
      if (!this.#mayWrite()) throw new WriteSuperseded();
      beforeSending?.();
    };
    return { ...CALL, signal, beforeSending: checked };
  }
}

const specIn = (object: KubeObject): unknown => (object as { readonly spec?: unknown }).spec;

function surplusOf(present: unknown, wanted: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isFields(present) || !isFields(wanted)) return undefined;
  const surplus = Object.entries(present).flatMap(([key, value]): [string, unknown][] => {
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
