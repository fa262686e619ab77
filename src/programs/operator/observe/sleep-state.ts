import { maySwitchOff, type PowerEndpoint, powerEndpointKind, readAs } from "../../../core/api/index.ts";
import type { SleepObservations } from "../../../core/planning/index.ts";
import { SleepMemory } from "../../../core/sleep/index.ts";
import { type Change, Reflector, type ReflectorOptions, resources } from "../../../platform/kube/index.ts";
import { sleepArrivals } from "./arrival-store.ts";
import { type LocalVolume, localVolumeOf } from "./local-volume.ts";
import { isCurrent } from "./staleness.ts";

type Watching = Pick<ReflectorOptions<unknown, never>, "client" | "clock" | "random" | "log">;

/** What sleep decisions need besides the cluster state. It is watched only while SLEEP_MODE is not off. */
export class SleepState implements SleepObservations {
  readonly arrivals = sleepArrivals();
  readonly memory = new SleepMemory();
  readonly #endpoints: Reflector<PowerEndpoint>;
  readonly #volumes: Reflector<LocalVolume>;
  /** How many volumes are on the disks of each node, by the node's name or hostname. */
  readonly #volumesOn = new Map<string, number>();

  constructor(watching: Watching, onRelevantChange: () => void) {
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

  /** While one of them is stale, nothing new falls asleep, but nodes are woken. */
  get current(): boolean {
    return [this.#endpoints, this.#volumes].every(isCurrent);
  }

  get known(): boolean {
    return this.#endpoints.hasSynced && this.#volumes.hasSynced;
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

  hasLocalVolume(node: string): boolean {
    return this.#volumesOn.has(node);
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
