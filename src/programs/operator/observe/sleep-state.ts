import { maySwitchOff, type PowerEndpoint, powerEndpointKind, readAs } from "../../../core/api/index.ts";
import { type SelectedNode, selectedNodeOf } from "../../../core/demand/index.ts";
import type { SleepObservations } from "../../../core/planning/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type Change, type KubeIo, Reflector, resources } from "../../../platform/kube/index.ts";
import { sleepArrivals } from "./arrival-store.ts";
import { type LocalVolume, localVolumeOf } from "./local-volume.ts";

/** By then a silent watch was replaced, after 135 s: its first bookmark may take two minutes. */
const STALE_AFTER = milliseconds(150_000);

export const isCurrent = ({ hasSynced, silence }: Pick<Reflector<unknown>, "hasSynced" | "silence">): boolean =>
  hasSynced && silence !== undefined && silence <= STALE_AFTER;

/** What sleep decisions need besides the cluster state. It is watched only while SLEEP_MODE is not off. */
export class SleepState implements SleepObservations {
  readonly arrivals = sleepArrivals();
  readonly #endpoints: Reflector<PowerEndpoint>;
  readonly #volumes: Reflector<LocalVolume>;
  readonly #claims: Reflector<SelectedNode>;
  /** How many volumes are on the disks of each node, by the node's name or a label. */
  readonly #volumesOn = new Map<string, number>();

  constructor(watching: KubeIo & { readonly clock: Clock }, onRelevantChange: () => void) {
    this.#endpoints = new Reflector<PowerEndpoint>({
      ...watching,
      resource: resources.powerEndpoints,
      project: readAs(powerEndpointKind),
      onChange: (changes) => {
        if (changes.some(endpointChangeMatters)) onRelevantChange();
      },
    });
    this.#volumes = new Reflector<LocalVolume>({
      ...watching,
      resource: resources.persistentVolumes,
      project: localVolumeOf,
      onChange: (changes) => {
        for (const change of changes) {
          if (change.type !== "added") this.#countVolume(change.old, -1);
          if (change.type !== "deleted") this.#countVolume(change.new, 1);
        }
        onRelevantChange();
      },
    });
    // A change needs no pass of its own: the next one sees it, and so does the check before a node is asked to sleep.
    this.#claims = new Reflector<SelectedNode>({
      ...watching,
      resource: resources.persistentVolumeClaims,
      project: selectedNodeOf,
    });
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map(async (reflector) => reflector.stop()));
  }

  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map(async (reflector) => reflector.synced(signal)));
  }

  /** While one of them is stale, nothing new falls asleep, but nodes are woken. */
  get current(): boolean {
    return this.#reflectors.every(isCurrent);
  }

  get known(): boolean {
    return this.#reflectors.every(({ hasSynced }) => hasSynced);
  }

  get #reflectors() {
    return [this.#endpoints, this.#volumes, this.#claims] as const;
  }

  #countVolume({ nodes }: LocalVolume, by: number): void {
    for (const node of nodes) {
      const count = (this.#volumesOn.get(node) ?? 0) + by;
      if (count > 0) this.#volumesOn.set(node, count);
      else this.#volumesOn.delete(node);
    }
  }

  endpoint(node: string): PowerEndpoint | undefined {
    return this.#endpoints.store.getByKey(node);
  }

  hasLocalVolume(node: string, labels: Readonly<Record<string, string>> = {}): boolean {
    if (this.#volumesOn.size === 0) return false;
    return (
      this.#volumesOn.has(node) || Object.entries(labels).some(([key, value]) => this.#volumesOn.has(`${key}=${value}`))
    );
  }

  selectedNode(claim: string): SelectedNode | undefined {
    return this.#claims.store.getByKey(claim);
  }
}

const decisive = ({ metadata, status }: PowerEndpoint) =>
  JSON.stringify([
    metadata.annotations,
    metadata.generation,
    status?.provenGeneration,
    status?.wakeProven,
    maySwitchOff({ status }),
    status?.lastWake,
    status?.cyclesToday,
  ]);

const endpointChangeMatters = (change: Change<PowerEndpoint>): boolean =>
  change.type !== "updated" || decisive(change.old) !== decisive(change.new);
