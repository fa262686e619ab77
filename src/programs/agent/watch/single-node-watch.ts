import {
  type ErrorCode,
  labels,
  type NodePowerProfile,
  type NodeTwin,
  nodePowerProfileKind,
  nodeTwinKind,
  readAs,
  type TelemetryProfile,
  telemetryProfileKind,
} from "../../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import {
  type Change,
  isApiError,
  type KubeIo,
  missingDefinition,
  Reflector,
  type ReflectorOptions,
  remedyOfMissingDefinition,
  resources,
  type Selection,
  type StopSwitch,
  unreadOf,
} from "../../../platform/kube/index.ts";
import {
  type NodeFacts,
  type NodeFactsSource,
  type ProjectedNode,
  projectNode,
  projectTwin,
  specChanged,
  type WatchedObject,
} from "./node-facts.ts";

export interface WatchOptions extends KubeIo {
  readonly clock: Clock;
  /** How long a watch may be silent before the reflector replaces it. */
  readonly idleLimit?: Milliseconds;
  readonly stopSwitch: Pick<StopSwitch, "isKnown">;
  readonly onSpecChange: (node: string | undefined) => void;
}

/** Retry interval for asking the API server whether it supports our field selectors. */
const RETRY_INTERVAL = milliseconds(5000);

const MISSING_CRD: ErrorCode = "JOULIE_E_MISSING_CRD";

export class SingleNodeWatch implements NodeFactsSource {
  readonly #name: string;
  readonly #options: WatchOptions;
  readonly #node: Reflector<ProjectedNode>;
  readonly #twin: Reflector<NodeTwin>;
  readonly #profile: Reflector<NodePowerProfile>;
  /** Empty until the API server has said whether it supports our field selectors. */
  #routes: readonly Reflector<TelemetryProfile>[] = [];
  readonly #stop = new AbortController();
  #choosingRoutes: Promise<void> | undefined;

  constructor(name: string, options: WatchOptions) {
    this.#name = name;
    this.#options = options;
    const byName = { fieldSelector: `metadata.name=${name}` };
    this.#node = this.#reflect({ resource: resources.nodes, project: projectNode, selection: byName });
    this.#twin = this.#reflect({
      resource: resources.nodeTwins,
      project: (object) => projectTwin(readAs(nodeTwinKind)(object)),
      selection: byName,
    });
    this.#profile = this.#reflect({
      resource: resources.nodePowerProfiles,
      project: readAs(nodePowerProfileKind),
      selection: byName,
    });
  }

  names(): Iterable<string> {
    return [this.#name];
  }

  facts(name: string): NodeFacts {
    const node = this.#node.store.getByKey(name);
    const isManaged = node?.metadata.labels?.[labels.managed] === "true";
    return {
      synced: this.notSynced.length === 0,
      node: isManaged ? node : undefined,
      twin: this.#twin.store.getByKey(name),
      profile: this.#profile.store.getByKey(name),
      routes: this.#routes.flatMap(({ store }) => [...store.values()]),
      hardware: undefined,
    };
  }

  get silence(): Milliseconds | undefined {
    return this.#twin.silence;
  }

  get notSynced(): readonly string[] {
    const unread = unreadOf({ nodes: this.#node, twins: this.#twin, profiles: this.#profile });
    if (!this.#options.stopSwitch.isKnown) unread.push("namespace");
    const routed = this.#routes.length > 0 && this.#routes.every(({ hasSynced }) => hasSynced);
    return routed ? unread : [...unread, "telemetry profiles"];
  }

  start(): void {
    for (const reflector of [this.#node, this.#twin, this.#profile]) reflector.start();
    this.#choosingRoutes = this.#chooseRoutes(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the watch was stopped"));
    await this.#choosingRoutes;
    await Promise.all([this.#node, this.#twin, this.#profile, ...this.#routes].map(async (one) => one.stop()));
  }

  /** Before 1.31 API servers have no field selectors for custom resources: then it watches all profiles and filters them here. */
  async #chooseRoutes(signal: AbortSignal): Promise<void> {
    const { client, clock, log } = this.#options;
    const own = { fieldSelector: `spec.target.nodeName=${this.#name}` };
    for (let isReported = false; ; ) {
      try {
        await client.list(resources.telemetryProfiles, { ...own, limit: 1 }, { signal, retries: 0 });
        this.#watchRoutes(own, { fieldSelector: "spec.target.scope=cluster" });
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (isApiError(error, "badRequest")) {
          log.info("the API server has no field selectors for TelemetryProfiles; watching all of them");
          this.#watchRoutes({});
          return;
        }
        if (isApiError(error, "notFound") && !isReported) {
          log.error(
            { code: MISSING_CRD },
            `${missingDefinition(resources.telemetryProfiles)}; ${remedyOfMissingDefinition}`,
          );
          isReported = true;
        }
      }
      await clock.sleep(RETRY_INTERVAL, signal).catch(() => undefined);
      if (signal.aborted) return;
    }
  }

  #watchRoutes(...selections: readonly Selection[]): void {
    this.#routes = selections.map((selection) =>
      this.#reflect({
        resource: resources.telemetryProfiles,
        selection,
        project: (object) => {
          const profile = readAs(telemetryProfileKind)(object);
          const { scope, nodeName } = profile.spec.target;
          // A profile with scope cluster and a node name matches both watches; only the cluster watch keeps it.
          const wanted =
            selections.length === 1 || (selection.fieldSelector?.includes("scope") === true) === (scope === "cluster");
          return wanted && (scope === "cluster" || nodeName === this.#name) ? profile : undefined;
        },
      }),
    );
    for (const reflector of this.#routes) reflector.start();
  }

  #reflect<Value extends WatchedObject>(
    own: Pick<ReflectorOptions<Value, never>, "resource" | "project" | "selection">,
  ): Reflector<Value> {
    return reflectSpecs(this.#options, own, () => this.#name);
  }
}

export function reflectSpecs<Value extends WatchedObject, Index extends string = never>(
  { client, clock, random, log, idleLimit, onSpecChange }: WatchOptions,
  own: Pick<ReflectorOptions<Value, Index>, "resource" | "project" | "selection" | "indexes">,
  nodeOf: (change: Change<Value>) => string | undefined,
): Reflector<Value, Index> {
  const onChange = (changes: readonly Change<Value>[]) => {
    for (const change of changes) if (specChanged(change)) onSpecChange(nodeOf(change));
  };
  return new Reflector<Value, Index>({ client, clock, random, log, idleLimit, ...own, onChange });
}
