import type { NodePlan, SnapshotNode } from "../../../core/planning/index.ts";
import type { Transition } from "../../../core/policy/index.ts";
import type { EventNote, EventRecorder } from "../../../platform/kube/index.ts";

type Telling = Pick<EventNote, "type" | "reason" | "action" | "note">;

const told: Readonly<Record<Transition["name"], { reason: string; note: (pods: number) => string }>> = {
  defer: { reason: "DowngradeDeferred", note: (pods) => `eco is planned; waiting for ${countOf(pods)} to end` },
  allow: { reason: "ProfileEco", note: () => "eco: no performance pod is on the node" },
  "still blocked": { reason: "DowngradeDeferred", note: (pods) => `still waiting for ${countOf(pods)} to end` },
  unblocked: { reason: "ProfileEco", note: () => "eco: the last performance pod has ended" },
  "re-plan perf": { reason: "ProfilePerformance", note: () => "performance is planned again; draining is over" },
  "plan perf": { reason: "ProfilePerformance", note: () => "performance" },
};

const countOf = (pods: number): string => (pods === 1 ? "1 performance pod" : `${pods} performance pods`);

/** What happens to nodes, as events of the cluster: each once, when it happens. */
export class EventPublisher {
  readonly #recorder: Pick<EventRecorder, "record">;
  /** Nodes whose intruders were told of. */
  readonly #intruded = new Set<string>();

  constructor(recorder: Pick<EventRecorder, "record">) {
    this.#recorder = recorder;
  }

  profileChanged(node: SnapshotNode | undefined, plan: NodePlan, { name }: Transition): void {
    const { reason, note } = told[name];
    this.#tell(node, {
      type: "Normal",
      reason,
      action: "ChangeProfile",
      note: `${note(plan.performancePods ?? 0)} (${plan.reason})`,
    });
  }

  performancePodsOnEco(node: SnapshotNode | undefined, name: string, count: number): void {
    if (count === 0) this.#intruded.delete(name);
    if (count === 0 || this.#intruded.has(name)) return;
    this.#intruded.add(name);
    this.#tell(node, {
      type: "Warning",
      reason: "PerformancePodOnEco",
      action: "Observe",
      note: `${countOf(count)} on a node that is published as eco; is the scheduler extender in use?`,
    });
  }

  writeFailed(node: SnapshotNode | undefined, kind: string, message: string): void {
    this.#tell(node, { type: "Warning", reason: "WriteFailed", action: kindOfAction(kind), note: message });
  }

  labelConflict(node: SnapshotNode | undefined, keys: readonly string[]): void {
    this.#tell(node, {
      type: "Warning",
      reason: "LabelContested",
      action: "WriteLabels",
      note: `somebody else keeps setting ${keys.join(" and ")}; it is written again, less and less often`,
    });
  }

  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.#intruded) if (!names.has(name)) this.#intruded.delete(name);
  }

  #tell(node: SnapshotNode | undefined, telling: Telling): void {
    if (node === undefined) return;
    const { name, uid } = node.metadata;
    this.#recorder.record({ regarding: { apiVersion: "v1", kind: "Node", name, uid }, ...telling });
  }
}

const kindOfAction = (kind: string): string => `Write${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
