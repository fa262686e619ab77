import { operatorConfigMap } from "../../../core/api/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { KubeIo } from "../client/kube-io.ts";
import type { KubeObject } from "../client/object.ts";
import { resources } from "../client/resources.ts";
import { Reflector } from "./reflector.ts";

/** The data of the ConfigMap by which the operator tells the other programs about itself. */
export interface OperatorState {
  /** When every NodeTwin was last known to hold what the operator has decided, by its clock. */
  readonly aliveAt?: string;
  /** Its settings that other programs need, by the name of the variable. */
  readonly [variable: string]: string | undefined;
}

export interface OperatorStateWatchOptions extends KubeIo {
  readonly clock: Clock;
  /** Namespace of the installation. */
  readonly namespace: string;
  readonly onChange?: () => void;
}

/** The RBAC rule for readers: this one ConfigMap. */
export const operatorStateRule = (namespace: string) => ({
  namespace,
  apiGroups: [""],
  resources: ["configmaps"],
  resourceNames: [operatorConfigMap],
  verbs: ["list", "watch"],
});

/** The newest state that the operator published. It is empty without an operator, and without the permission to read it. */
export class OperatorStateWatch {
  readonly #reflector: Reflector<OperatorState>;
  readonly #known = Promise.withResolvers<void>();

  constructor({ namespace, log, ...options }: OperatorStateWatchOptions) {
    this.#reflector = new Reflector({
      ...options,
      log,
      resource: resources.configMaps,
      selection: { namespace, fieldSelector: `metadata.name=${operatorConfigMap}` },
      project: (object) => (object as KubeObject & { readonly data?: OperatorState }).data ?? {},
      onForbidden: () => {
        log.info(`may not read ConfigMap ${namespace}/${operatorConfigMap}: going without it`);
        this.#known.resolve();
      },
    });
    void this.#reflector.synced().then(() => this.#known.resolve());
  }

  /** Resolves when the API server has answered once. */
  async known(): Promise<void> {
    return this.#known.promise;
  }

  get state(): OperatorState {
    const [state] = this.#reflector.store.values();
    return state ?? {};
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }
}
