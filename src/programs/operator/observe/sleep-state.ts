import { type PowerEndpoint, powerEndpointKind, readAs } from "../../../core/api/index.ts";
import { ArrivalHistory } from "../../../core/fit/index.ts";
import type { SleepObservations } from "../../../core/planning/index.ts";
import { SleepMemory } from "../../../core/sleep/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import {
  type Change,
  type KubeObject,
  Reflector,
  type ReflectorOptions,
  resources,
} from "../../../platform/kube/index.ts";

type Watching = Pick<ReflectorOptions<unknown, never>, "client" | "clock" | "random" | "log" | "idleLimit">;

/** Nodes on whose own disks a volume is. */
interface LocalVolume {
  readonly nodes: readonly string[];
}

/** What sleep decisions need besides the cluster state. It is watched only while SLEEP_MODE is not off. */
export class SleepState implements SleepObservations {
  readonly arrivals = new ArrivalHistory(milliseconds(60_000));
  readonly memory = new SleepMemory();
  readonly #endpoints: Reflector<PowerEndpoint>;
  readonly #volumes: Reflector<LocalVolume, "node">;

  constructor(watching: Watching, onRelevantChange: () => void) {
    this.#endpoints = new Reflector<PowerEndpoint>({
      ...watching,
      resource: resources.powerEndpoints,
      project: readAs(powerEndpointKind),
      onChange: (changes) => {
        if (changes.some(endpointChangeMatters)) onRelevantChange();
      },
    });
    this.#volumes = new Reflector<LocalVolume, "node">({
      ...watching,
      resource: resources.persistentVolumes,
      project: localVolumeOf,
      indexes: { node: ({ nodes }) => nodes[0] },
      onChange: () => undefined,
    });
  }

  start(): void {
    this.#endpoints.start();
    this.#volumes.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#endpoints.stop(), this.#volumes.stop()]);
  }

  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#endpoints.synced(signal), this.#volumes.synced(signal)]);
  }

  get current(): boolean {
    return this.#endpoints.hasSynced && this.#volumes.hasSynced;
  }

  endpoint(node: string): PowerEndpoint | undefined {
    return this.#endpoints.store.getByKey(node);
  }

  hasLocalVolume(node: string): boolean {
    for (const _ of this.#volumes.store.by("node", node)) return true;
    return false;
  }
}

const decisive = ({ metadata, status }: PowerEndpoint) =>
  JSON.stringify([metadata.annotations, status?.wakeProven, status?.lastWake, status?.cyclesToday]);

const endpointChangeMatters = (change: Change<PowerEndpoint>): boolean =>
  change.type !== "updated" || decisive(change.old) !== decisive(change.new);

interface VolumeSpec {
  readonly local?: unknown;
  readonly hostPath?: unknown;
  readonly nodeAffinity?: {
    readonly required?: {
      readonly nodeSelectorTerms?: readonly {
        readonly matchExpressions?: readonly { readonly key?: string; readonly values?: readonly string[] }[];
      }[];
    };
  };
}

const HOSTNAME = "kubernetes.io/hostname";

/** A volume with `local` or `hostPath` names its node by its hostname label, which is nearly always the name of the node. */
function localVolumeOf(object: KubeObject): LocalVolume {
  const { spec = {} } = object as KubeObject & { readonly spec?: VolumeSpec };
  if (spec.local === undefined && spec.hostPath === undefined) return { nodes: [] };
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const nodes = terms.flatMap(({ matchExpressions = [] }) =>
    matchExpressions.flatMap(({ key, values = [] }) => (key === HOSTNAME ? values : [])),
  );
  return { nodes: nodes.filter((name) => typeof name === "string") };
}
