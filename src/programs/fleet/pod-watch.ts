import type { RandomSource } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { type Change, type KubeClient, Reflector, resources } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { fleetLabels } from "./names.ts";
import { type FleetPod, fleetPodOf } from "./pod-job.ts";

export interface PodWatchOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  /** Node prefix that identifies this fleet's pods. */
  readonly prefix: string;
  /** Whether a node belongs to this fleet. */
  readonly isOurs: (node: string) => boolean;
  readonly onChange: (change: Change<FleetPod>) => void;
}

/** Watches pods on our nodes and pods submitted by this fleet. */
export class PodWatch {
  readonly #reflector: Reflector<FleetPod>;

  constructor({ prefix, isOurs, onChange, ...io }: PodWatchOptions) {
    this.#reflector = new Reflector({
      ...io,
      resource: resources.pods,
      project: (object) => {
        const own = object.metadata.labels?.[fleetLabels.submitter] === prefix;
        const { nodeName } = (object as { spec?: { nodeName?: string } }).spec ?? {};
        return own || (nodeName !== undefined && isOurs(nodeName)) ? fleetPodOf(object, own) : undefined;
      },
      onChange: (changes) => {
        for (const change of changes) onChange(change);
      },
    });
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }

  async synced(signal: AbortSignal): Promise<void> {
    await this.#reflector.synced(signal);
  }

  get hasSynced(): boolean {
    return this.#reflector.hasSynced;
  }

  get(key: string): FleetPod | undefined {
    return this.#reflector.store.getByKey(key);
  }

  /** The pods that are bound to a node. */
  *on(node: string): Iterable<FleetPod> {
    for (const pod of this.#reflector.store.values()) if (pod.node === node) yield pod;
  }
}
