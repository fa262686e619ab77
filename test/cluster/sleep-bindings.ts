import type { NodePowerState, PowerEndpointStatus } from "../../src/core/api/index.ts";
import { phaseOf } from "../../src/programs/power/index.ts";

interface Binding {
  readonly pod: string;
  readonly tolerates: boolean;
  /** Whether the switch had not been asked for anything yet. */
  readonly isEarly: boolean;
}

interface NodeRecord {
  phase: NodePowerState;
  step: string | undefined;
  /** Undefined if Nodes are not watched. */
  tainted: boolean | undefined;
  /** Pods that were bound since the sleep in progress began, and are still there. */
  readonly bound: Map<string, Binding>;
}

export interface SleepBindingsOptions {
  readonly onViolation: (text: string) => void;
  /** A pod that tolerates the taint was bound to a node that was off or on its way there. */
  readonly onTolerated?: (pod: string) => void;
}

/** The steps of a sleep before the switch is asked for anything. */
const earlySteps: ReadonlySet<string | undefined> = new Set(["taint", "count"]);

/**
 * Judges whether a pod was bound to a node that was off or was being switched off, from all changes in the order of their
 * resource versions. The promise: a pod that is bound before the switch is asked for anything stops the sleep. After that only a
 * pod that tolerates the taint is bound, until the power program removes the taint: in the last step of a wake, or when a node
 * whose wake failed comes back by itself.
 */
export class SleepBindings {
  readonly #options: SleepBindingsOptions;
  readonly #nodes = new Map<string, NodeRecord>();

  constructor(options: SleepBindingsOptions) {
    this.#options = options;
  }

  endpointChanged(name: string, status: PowerEndpointStatus | undefined): void {
    const node = this.#recordOf(name);
    const phase = phaseOf(status, false);
    // A sleep that was given up ends with `on`, and one whose Node was deleted before the switch was asked with `waking`.
    const isSwitchedOff = phase === "off" || (phase === "waking" && !earlySteps.has(node.step));
    if (node.phase === "stopping" && isSwitchedOff)
      for (const binding of node.bound.values()) this.#wasSwitchedOff(binding, name);
    if (phase !== "stopping" || node.phase !== "stopping") node.bound.clear();
    node.phase = phase;
    node.step = status?.operation?.step;
  }

  taintChanged(name: string, tainted: boolean): void {
    this.#recordOf(name).tainted = tainted;
  }

  bound(pod: string, name: string, tolerates: boolean): void {
    const node = this.#recordOf(name);
    const { step, tainted } = node;
    if (node.phase === "stopping") node.bound.set(pod, { pod, tolerates, isEarly: earlySteps.has(step) });
    // A PowerEndpoint that was deleted or lost its status says nothing: the taint does.
    const phase = node.phase === "on" && tainted === true ? "off" : node.phase;
    const isReleased =
      (phase === "waking" && (step === "untaint" || tainted === false)) || (phase === "failed" && tainted !== true);
    if (phase === "on" || phase === "stopping" || isReleased) return;
    if (tolerates) this.#options.onTolerated?.(pod);
    else this.#options.onViolation(`${pod} was bound to ${name}, which was ${phase}`);
  }

  /** The pod has ended or was deleted. */
  ended(pod: string): void {
    for (const { bound } of this.#nodes.values()) bound.delete(pod);
  }

  #wasSwitchedOff({ pod, tolerates, isEarly }: Binding, node: string): void {
    const { onViolation, onTolerated } = this.#options;
    if (isEarly) onViolation(`${pod} was bound to ${node} before it was switched off, and did not stop that`);
    else if (!tolerates) onViolation(`${pod} was bound to ${node} while it was switched off`);
    else onTolerated?.(pod);
  }

  #recordOf(name: string): NodeRecord {
    let found = this.#nodes.get(name);
    if (found === undefined) {
      found = { phase: "on", step: undefined, tainted: undefined, bound: new Map() };
      this.#nodes.set(name, found);
    }
    return found;
  }
}
