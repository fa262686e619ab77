import { isDeepStrictEqual } from "node:util";
import type { NodeTwin, PowerEndpoint } from "../../../core/api/index.ts";
import type { Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import {
  type Change,
  isApiError,
  type KubeIo,
  Reflector,
  resources,
  unreadOf,
  WorkQueue,
} from "../../../platform/kube/index.ts";
import {
  countsAsAsleep,
  lastReport,
  type NodeView,
  type ObservedNode,
  observedNode,
  ownTwin,
  readEndpoint,
  readTwin,
} from "./cluster-view.ts";

export interface PowerControllerOptions extends KubeIo {
  readonly clock: Clock;
}

export interface TermOptions {
  readonly clock: Clock;
  readonly onError: (name: string, error: unknown) => void;
  readonly concurrency: number;
  readonly reconcile: (name: string, signal: AbortSignal) => Promise<Milliseconds>;
  readonly forget: (name: string) => void;
}

/** Watches Nodes, NodeTwins and PowerEndpoints, and while this replica leads lets a reconciler work on what changed. */
export class PowerController {
  readonly #options: PowerControllerOptions;
  readonly #reflectors;
  #queue: WorkQueue | undefined;

  constructor(io: PowerControllerOptions) {
    this.#options = io;
    this.#reflectors = {
      nodes: new Reflector<ObservedNode>({
        ...io,
        resource: resources.nodes,
        project: observedNode,
        onChange: (changes) => this.#changed(changes, (node) => node.name, nodeFacts),
      }),
      twins: new Reflector<NodeTwin>({
        ...io,
        resource: resources.nodeTwins,
        project: readTwin,
        onChange: (changes) => this.#changed(changes, nameOf, twinFacts),
      }),
      endpoints: new Reflector<PowerEndpoint>({
        ...io,
        resource: resources.powerEndpoints,
        project: readEndpoint,
        onChange: (changes) => this.#changed(changes, nameOf, endpointFacts),
      }),
    };
  }

  get missing(): string[] {
    return unreadOf(this.#reflectors);
  }

  start(): void {
    for (const reflector of Object.values(this.#reflectors)) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#reflectors).map(async (reflector) => reflector.stop()));
  }

  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all(Object.values(this.#reflectors).map(async (reflector) => reflector.synced(signal)));
  }

  view(name: string): NodeView {
    const { nodes, twins, endpoints } = this.#reflectors;
    const node = nodes.store.getByKey(name);
    return { name, node, twin: ownTwin(node, twins.store.getByKey(name)), endpoint: endpoints.store.getByKey(name) };
  }

  /** Looks at every node that can be switched or counts as asleep; for a new term and when the stop switch changes. */
  lookAtAll(): void {
    const { nodes, endpoints } = this.#reflectors;
    for (const { metadata } of endpoints.store.values()) this.#queue?.add(metadata.name);
    for (const { name } of nodes.store.values()) if (countsAsAsleep(this.view(name))) this.#queue?.add(name);
  }

  async run(options: TermOptions, term: AbortSignal): Promise<void> {
    const { clock, onError, concurrency, reconcile, forget } = options;
    const queue: WorkQueue = new WorkQueue({
      ...this.#options,
      clock,
      concurrency,
      work: async (name, signal) => {
        const view = this.view(name);
        if (view.endpoint === undefined && !countsAsAsleep(view)) {
          forget(name);
          return;
        }
        try {
          const next = await reconcile(name, signal);
          if (next > 0) queue.addAfter(name, next);
          else queue.add(name);
        } catch (error) {
          // After a conflict the next attempt reads again.
          if (!signal.aborted && !isApiError(error, "conflict")) onError(name, error);
          throw error;
        }
      },
    });
    this.#queue = queue;
    try {
      this.lookAtAll();
      await new Promise<void>((resolve) => {
        term.addEventListener("abort", () => resolve(), { once: true });
        if (term.aborted) resolve();
      });
    } finally {
      this.#queue = undefined;
      await queue.stop();
    }
  }

  /** A failed call of a switch changes no facts, so that the switch is not called again at once. */
  #changed<Value>(
    changes: readonly Change<Value>[],
    name: (value: Value) => string,
    facts: (value: Value) => unknown,
  ): void {
    for (const change of changes) {
      if (change.type === "updated" && isDeepStrictEqual(facts(change.old), facts(change.new))) continue;
      this.#queue?.add(name(change.type === "deleted" ? change.old : change.new));
    }
  }
}

const nameOf = ({ metadata }: { readonly metadata: { readonly name: string } }) => metadata.name;
/** All but the version. */
const nodeFacts = (node: ObservedNode) => ({ ...node, resourceVersion: "" });
const twinFacts = (twin: NodeTwin) => [twin.metadata.uid, twin.spec.power, twin.status?.power?.state, lastReport(twin)];
/** The ends of the last wake and sleep decide how long a node stays awake. */
const endpointFacts = ({ metadata, spec, status }: PowerEndpoint) => [
  metadata.uid,
  metadata.annotations,
  spec,
  status?.lastWake?.at,
  status?.lastSleep?.at,
];
