import { JoulieError } from "../../../core/api/index.ts";
import type { Transition } from "../../../core/policy/index.ts";
import { ApiError, isApiError } from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { EventPublisher } from "../events/event-publisher.ts";
import type { OperatorMetrics } from "../metrics/operator-metrics.ts";
import type { ClusterState } from "../observe/cluster-state.ts";

export interface WriteFailure {
  readonly step: string;
  readonly message: string;
  /** The API as a whole is away or busy: of a node it says nothing, and to say so on 5,000 of them would keep it busy. */
  readonly transient: boolean;
  /** How many writes in a row somebody else's write came before. */
  readonly conflicts: number;
  /** The way the node was to go by the plan it failed under. */
  readonly transition: Transition["name"] | undefined;
}

export interface WriteFailuresOptions {
  readonly metrics: OperatorMetrics;
  readonly events: EventPublisher;
  readonly state: ClusterState;
  readonly log: Logger;
}

/** Others write too, and agents often: to be overtaken is ordinary. Whoever is overtaken each time is fought with. */
const ORDINARY_CONFLICTS = 5;

/** Nodes whose last write failed, and why. Each of them has its own time to be tried again. */
export class WriteFailures {
  readonly #of = new Map<string, WriteFailure>();
  readonly #options: WriteFailuresOptions;

  constructor(options: WriteFailuresOptions) {
    this.#options = options;
  }

  get(name: string): WriteFailure | undefined {
    return this.#of.get(name);
  }

  has(name: string): boolean {
    return this.#of.has(name);
  }

  names(): Iterable<string> {
    return this.#of.keys();
  }

  delete(name: string): void {
    this.#of.delete(name);
  }

  /** What the node's condition says. */
  reportable(name: string): WriteFailure | undefined {
    const failure = this.#of.get(name);
    return failure?.transient === false ? failure : undefined;
  }

  add(name: string, step: string, error: unknown, transition: WriteFailure["transition"]): void {
    const { metrics: figures, events: news, state, log } = this.#options;
    const message = `${step}: ${error instanceof Error ? error.message : String(error)}`;
    figures.countWriteError(step);
    const before = this.#of.get(name);
    const conflicts = isApiError(error, "conflict") ? (before?.conflicts ?? 0) + 1 : 0;
    const isOrdinary = conflicts > 0 && conflicts <= ORDINARY_CONFLICTS && before?.transient !== false;
    const passing = isPassing(error) || isOrdinary;
    if (!passing && before?.transient !== false) news.writeFailed(state.node(name), step, message);
    if (before === undefined) {
      // What we made ourselves and may not write is a fault of ours; all else is the cluster's and shown as such.
      const ours = error instanceof JoulieError || !(error instanceof ApiError);
      log[ours ? "error" : "debug"]({ node: name, kind: step, err: error }, "a write failed; it is tried again");
    }
    this.#of.set(name, { step, message, transient: passing, conflicts, transition });
  }
}

const isPassing = (error: unknown): boolean =>
  isApiError(error, "network", "timeout", "unavailable", "tooMany", "busy", "garbled", "unauthorized");

/** No answer is not a no. */
export const mayHaveSucceeded = (error: unknown): boolean =>
  isApiError(error, "network", "timeout", "garbled", "unavailable", "internal");
