import { annotations } from "../../../core/api/index.ts";
import type { Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { KubeIo } from "../client/kube-io.ts";
import { resources } from "../client/resources.ts";
import { Reflector } from "./reflector.ts";

export interface StopSwitchOptions extends KubeIo {
  readonly clock: Clock;
  readonly idleLimit?: Milliseconds;
  /** Namespace of the installation. */
  readonly namespace: string;
  /** Called when the state becomes known, and when it changes. */
  readonly onChange: () => void;
}

/** The RBAC rule for the switch: this one namespace. */
export const stopSwitchRule = (namespace: string) => ({
  apiGroups: [""],
  resources: ["namespaces"],
  resourceNames: [namespace],
  verbs: ["list", "watch"],
});

/** What agents report while the switch is on. */
export const stoppedBy = (namespace: string): string =>
  `stopped by the annotation ${annotations.stop} on namespace ${namespace}`;

/**
 * The global stop switch: the annotation joulie.io/stop on the namespace of the installation. While the API server is
 * unreachable, the last known state stays. Without permission to read the namespace there is no switch.
 */
export class StopSwitch {
  readonly #options: StopSwitchOptions;
  readonly #namespace: Reflector<{ readonly stopped: boolean }>;
  readonly #known = Promise.withResolvers<void>();
  #wasStopped = false;

  constructor(options: StopSwitchOptions) {
    this.#options = options;
    const { client, clock, random, log, idleLimit, namespace } = options;
    this.#namespace = new Reflector({
      client,
      clock,
      random,
      log,
      ...(idleLimit !== undefined && { idleLimit }),
      resource: resources.namespaces,
      selection: { fieldSelector: `metadata.name=${namespace}` },
      project: ({ metadata }) => ({ stopped: metadata.annotations?.[annotations.stop] === "true" }),
      onChange: () => this.#changed(),
      onForbidden: () => {
        log.warn(`may not read namespace ${namespace}: its annotation ${annotations.stop} has no effect`);
        this.#known.resolve();
      },
    });
    void this.#namespace.synced().then(() => this.#known.resolve());
    void this.#known.promise.then(options.onChange);
  }

  /** Why everything is stopped; undefined if it is not. */
  get reason(): string | undefined {
    const { namespace } = this.#options;
    return this.#namespace.store.getByKey(namespace)?.stopped === true ? stoppedBy(namespace) : undefined;
  }

  /** False until the API server has answered once. */
  get isKnown(): boolean {
    return this.#namespace.hasSynced || this.#namespace.isForbidden;
  }

  /** Resolves when the state is known. */
  async known(): Promise<void> {
    return this.#known.promise;
  }

  start(): void {
    this.#namespace.start();
  }

  async stop(): Promise<void> {
    await this.#namespace.stop();
  }

  #changed(): void {
    const { log, namespace, onChange } = this.#options;
    const { reason } = this;
    const isStopped = reason !== undefined;
    if (isStopped !== this.#wasStopped)
      log.warn(reason ?? `the annotation ${annotations.stop} on namespace ${namespace} is gone: continuing`);
    this.#wasStopped = isStopped;
    onChange();
  }
}
