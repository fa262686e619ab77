import {
  archLabel,
  type Labels,
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  nfdCpuLabels,
  nfdGpuLabels,
  type Pod,
  type PowerEndpoint,
} from "../../../core/api/index.ts";
import { isTwinOf } from "../../../core/policy/index.ts";
import { type ClusterKind, type ClusterObjects, resourceNames } from "../../../core/report/index.ts";
import { type Instant, type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type Change, type KubeIo, type Reflector, unreadOf } from "../../../platform/kube/index.ts";
import { boundNodeOf, ClusterReflectors, type ReportedNode } from "../../console/index.ts";
import type { ClassName, Totals } from "../wire.ts";
import { ClassChangeLog, classChange } from "./class-changes.ts";
import { FleetTable } from "./fleet-table.ts";
import { classOf, hasExpired, rowOf } from "./node-row.ts";

export interface ClusterWatchOptions extends KubeIo {
  /** For calls. */
  readonly ioClock: Clock;
  /** For the times of decisions; may be scaled. */
  readonly clock: Clock;
  readonly staleAfter: Milliseconds;
}

export interface NodeObjects {
  readonly node: ReportedNode;
  /** Undefined as well for the twin of a former node of the same name. */
  readonly twin: NodeTwin | undefined;
  /** False if the API server refuses them, or they are not read yet. */
  readonly areTwinsKnown: boolean;
  readonly hardware: NodeHardware | undefined;
  readonly endpoint: PowerEndpoint | undefined;
  readonly profile: NodePowerProfile | undefined;
  readonly pods: readonly Pod[] | undefined;
}

const DECISIONS = 200;

const HARDWARE_LABELS: ReadonlySet<string> = new Set([
  archLabel,
  ...Object.values(nfdCpuLabels),
  ...Object.values(nfdGpuLabels).flat(),
]);
/** Node feature discovery writes a hundred labels per node, of which the hardware needs a dozen. */
const NFD = "feature.node.kubernetes.io/";
const LABELS_LIMIT = 100;

function groupingLabels(labels: Labels): Labels {
  const kept = Object.entries(labels).filter(([key]) => !key.startsWith(NFD) || HARDWARE_LABELS.has(key));
  return Object.fromEntries(kept.slice(0, LABELS_LIMIT));
}

/** Keeps the table of nodes up to date. Changes only mark nodes, so that many changes of one cost no more than one. */
export class ClusterWatch {
  readonly table = new FleetTable();
  readonly decisions = new ClassChangeLog(DECISIONS);
  readonly #clock: Clock;
  readonly #staleAfter: Milliseconds;
  readonly #changed = new Set<string>();
  readonly #classes = new Map<string, ClassName>();
  #pendingPods = 0;
  #lastKnown = "";
  readonly #reflectors: ClusterReflectors;

  constructor({ client, clock, ioClock, random, log, staleAfter }: ClusterWatchOptions) {
    this.#clock = clock;
    this.#staleAfter = staleAfter;
    this.#reflectors = new ClusterReflectors({
      client,
      clock: ioClock,
      random,
      log,
      labelsOf: groupingLabels,
      onRefused: (kind) => {
        if (this.#reflectors.of(kind).isForbidden)
          log.warn({ kind: resourceNames[kind] }, "may not list this kind; showing the others");
      },
      onChange: (changes) => {
        for (const { key } of changes) this.#changed.add(key);
      },
      onPodChange: (changes) => this.#podsChanged(changes),
    });
  }

  start(): void {
    this.#reflectors.start();
  }

  async stop(): Promise<void> {
    await this.#reflectors.stop();
  }

  /** The kinds whose first list is awaited. Nodes are needed; other kinds may be forbidden or not installed. */
  get unsynced(): readonly string[] {
    const awaited = this.#reflectors.kinds.filter((kind) => kind === "nodes" || !this.#reflectors.of(kind).isRefused);
    return unreadOf(Object.fromEntries(awaited.map((kind) => [kind, this.#reflectors.of(kind)])));
  }

  /** The names of the kinds that the API server does not have, and of those that the dashboard may not list. */
  get refused(): { readonly missing: readonly string[]; readonly forbidden: readonly string[] } {
    const names = (isMeant: (kind: ClusterKind) => boolean) =>
      this.#reflectors.kinds.filter(isMeant).map((kind) => resourceNames[kind]);
    return {
      missing: names((kind) => this.#reflectors.of(kind).missingDefinition !== undefined),
      forbidden: names((kind) => this.#reflectors.of(kind).isForbidden),
    };
  }

  get silence(): Milliseconds | undefined {
    const { kinds } = this.#reflectors;
    const silences = kinds.flatMap((kind) => {
      const { isRefused, silence } = this.#reflectors.of(kind);
      return isRefused ? [] : (silence ?? []);
    });
    return silences.length === 0 ? undefined : milliseconds(Math.max(...silences));
  }

  totals(savedWatts: number | null): Totals {
    const isKnown = this.#reflectors.isKnown("pods");
    return this.table.totals({
      pods: isKnown ? this.#reflectors.pods.store.size : null,
      pendingPods: isKnown ? this.#pendingPods : null,
      savedWatts,
      freshness: { now: this.#clock.now(), staleAfter: this.#staleAfter },
    });
  }

  objects(now: Instant): ClusterObjects {
    return this.#reflectors.objects(now);
  }

  node(name: string): NodeObjects | undefined {
    const node = this.#reflectors.nodes.store.getByKey(name);
    return node && this.#factsOf(node);
  }

  refresh(): void {
    const at = this.#clock.now();
    // Before the first lists are complete, and while twins are refused, a class would appear to change from or to unknown.
    const isComplete = this.unsynced.length === 0 && !this.#reflectors.twins.isRefused;
    const freshness = { now: at, staleAfter: this.#staleAfter };
    // Once a kind is read or refused, also nodes without its objects change: their pods from unknown to 0.
    const known = this.#reflectors.kinds.filter((kind) => this.#reflectors.isKnown(kind)).join();
    const isNew = known !== this.#lastKnown;
    this.#lastKnown = known;
    for (const [name, row] of this.table.rows()) if (isNew || hasExpired(row, freshness)) this.#changed.add(name);
    for (const name of this.#changed) {
      const facts = this.node(name);
      if (facts === undefined) {
        this.table.remove(name);
        this.#classes.delete(name);
        continue;
      }
      const { node, twin, pods } = facts;
      const row = rowOf(node, twin, pods, freshness);
      this.table.set(name, node.metadata.labels, row);
      const to = classOf(twin);
      const performancePods = row.performancePods ?? undefined;
      const change = isComplete && classChange(name, this.#classes.get(name), to, { at, twin, performancePods });
      if (change) this.decisions.add(change);
      if (isComplete) this.#classes.set(name, to);
    }
    // Nodes read before all lists were complete need their class remembered.
    if (isComplete || this.#reflectors.twins.isRefused) this.#changed.clear();
  }

  #factsOf(node: ReportedNode): NodeObjects {
    const { name } = node.metadata;
    const { twins, hardware, profiles, endpoints, pods } = this.#reflectors;
    const found = <Value>(kind: ClusterKind, { store }: Reflector<Value>): Value | undefined =>
      this.#reflectors.isKnown(kind) ? store.getByKey(name) : undefined;
    const twin = found("twins", twins);
    return {
      node,
      twin: twin !== undefined && isTwinOf(node, twin) ? twin : undefined,
      areTwinsKnown: this.#reflectors.isKnown("twins"),
      hardware: found("hardware", hardware),
      endpoint: found("endpoints", endpoints),
      profile: found("profiles", profiles),
      pods: this.#reflectors.isKnown("pods") ? [...pods.store.by("node", name)] : undefined,
    };
  }

  #podsChanged(changes: readonly Change<Pod>[]): void {
    for (const change of changes) {
      const old = change.type === "added" ? undefined : change.old;
      const now = change.type === "deleted" ? undefined : change.new;
      const nodes = [old, now].map((pod) => pod && boundNodeOf(pod));
      this.#pendingPods += Number(now !== undefined && nodes[1] === undefined);
      this.#pendingPods -= Number(old !== undefined && nodes[0] === undefined);
      for (const node of nodes) if (node !== undefined) this.#changed.add(node);
    }
  }
}
