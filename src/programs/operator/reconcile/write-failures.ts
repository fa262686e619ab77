import { errorMessageOf, JoulieError } from "../../../core/api/index.ts";
import type { Transition } from "../../../core/policy/index.ts";
import { ApiError, isApiError } from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { EventPublisher } from "../events/event-publisher.ts";
import type { OperatorMetrics } from "../metrics/operator-metrics.ts";
import type { ClusterState } from "../observe/cluster-state.ts";

export interface WriteFailure {
  readonly step: string;
  readonly message: string;
  /** The API server is unreachable or overloaded. This is not about one node, and reporting it on 5,000 nodes adds load. */
  readonly transient: boolean;
  readonly conflicts: number;
  readonly transition: Transition["name"] | undefined;
}

export interface WriteFailuresOptions {
  readonly metrics: OperatorMetrics;
  readonly events: EventPublisher;
  readonly state: ClusterState;
  readonly log: Logger;
}

/** Agents write often, so single conflicts are normal. More in a row mean that another writer competes. */
const NORMAL_CONFLICTS = 5;

/** Nodes whose last write failed, with the reason. The work queue retries each of them with its own backoff. */
export class WriteFailures {
  readonly #byNode = new Map<string, WriteFailure>();
  readonly #options: WriteFailuresOptions;

  constructor(options: WriteFailuresOptions) {
    this.#options = options;
  }

  get(name: string): WriteFailure | undefined {
    return this.#byNode.get(name);
  }

  has(name: string): boolean {
    return this.#byNode.has(name);
  }

  names(): Iterable<string> {
    return this.#byNode.keys();
  }

  delete(name: string): void {
    this.#byNode.delete(name);
  }

  reportable(name: string): WriteFailure | undefined {
    const failure = this.#byNode.get(name);
    return failure?.transient === false ? failure : undefined;
  }

  add(name: string, step: string, error: unknown, transition: WriteFailure["transition"]): void {
    const { metrics, events, state, log } = this.#options;
    const message = `${step}: ${errorMessageOf(error)}`;
    metrics.countWriteError(step);
    const last = this.#byNode.get(name);
    const conflicts = isApiError(error, "conflict") ? (last?.conflicts ?? 0) + 1 : 0;
    const isNormalConflict = conflicts > 0 && conflicts <= NORMAL_CONFLICTS && last?.transient !== false;
    const transient = isTransient(error) || isNormalConflict;
    if (!transient && last?.transient !== false) events.writeFailed(state.node(name), step, message);
    if (last === undefined) {
      // An object that fails our own validation is a bug. API errors are shown in the condition and need no log line.
      const isBug = error instanceof JoulieError || !(error instanceof ApiError);
      log[isBug ? "error" : "debug"]({ node: name, kind: step, err: error }, "write failed; retrying");
    }
    this.#byNode.set(name, { step, message, transient, conflicts, transition });
  }
}

const isTransient = (error: unknown): boolean =>
  isApiError(error, "network", "timeout", "unavailable", "tooMany", "busy", "garbled", "unauthorized");

/** Without a response the server may still have executed the write. */
export const mayHaveSucceeded = (error: unknown): boolean =>
  isApiError(error, "network", "timeout", "garbled", "unavailable", "internal");
