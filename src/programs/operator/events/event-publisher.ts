import type { PodReference } from "../../../core/demand/index.ts";
import type { NodePlan, SnapshotNode } from "../../../core/planning/index.ts";
import type { Transition } from "../../../core/policy/index.ts";
import type { EventNote, EventRecorder } from "../../../platform/kube/index.ts";

type Message = Pick<EventNote, "type" | "reason" | "action" | "note">;

const messages: Readonly<Record<Transition["name"], { reason: string; note: (pods: number) => string }>> = {
  defer: { reason: "DowngradeDeferred", note: (pods) => `eco is planned; waiting for ${countOf(pods)} to end` },
  allow: { reason: "ProfileEco", note: () => "eco: no performance pod is on the node" },
  "still blocked": { reason: "DowngradeDeferred", note: (pods) => `still waiting for ${countOf(pods)} to end` },
  unblocked: { reason: "ProfileEco", note: () => "eco: the last performance pod has ended" },
  "re-plan perf": { reason: "ProfilePerformance", note: () => "performance is planned again; draining is over" },
  "plan perf": { reason: "ProfilePerformance", note: () => "performance" },
};

const countOf = (pods: number): string => (pods === 1 ? "1 performance pod" : `${pods} performance pods`);

/** Bounds the Events about one node, because thousands of pods may wait. */
const MAX_PODS_PER_NODE = 5;

export class EventPublisher {
  readonly #recorder: Pick<EventRecorder, "record">;
  readonly #reported = new Set<string>();

  constructor(recorder: Pick<EventRecorder, "record">) {
    this.#recorder = recorder;
  }

  profileChanged(node: SnapshotNode | undefined, plan: NodePlan, { name }: Transition): void {
    const { reason, note } = messages[name];
    this.#publish(node, {
      type: "Normal",
      reason,
      action: "ChangeProfile",
      note: `${note(plan.performancePods ?? 0)} (${plan.reason})`,
    });
  }

  performancePodsOnEco(node: SnapshotNode | undefined, name: string, count: number): void {
    if (count === 0) this.#reported.delete(name);
    if (count === 0 || this.#reported.has(name)) return;
    this.#reported.add(name);
    this.#publish(node, {
      type: "Warning",
      reason: "PerformancePodOnEco",
      action: "Observe",
      note: `${countOf(count)} on a node that is published as eco; is the scheduler extender in use?`,
    });
  }

  /** `pods` wait for a performance node. */
  capsNotConfirmed(node: SnapshotNode | undefined, { name, twin }: NodePlan, pods: Iterable<PodReference>): void {
    const { cpu, gpu } = twin?.status?.controlStatus ?? {};
    const failed = [cpu, gpu].find((report) => report?.result === "error" || report?.result === "blocked");
    const since = cpu?.updatedAt === undefined ? "it has not reported" : `its last report is of ${cpu.updatedAt}`;
    const why = failed?.message ?? since;
    const message = { type: "Warning", reason: "CapsNotConfirmed", action: "ChangeProfile" } as const;
    this.#publish(node, { ...message, note: `the agent did not confirm raised caps, so the node stays eco: ${why}` });
    let notified = 0;
    for (const pod of pods) {
      if (notified++ >= MAX_PODS_PER_NODE) return;
      const note = `node ${name} stays eco, because its agent did not confirm raised caps; another node is tried`;
      this.#recorder.record({ regarding: { apiVersion: "v1", kind: "Pod", ...pod }, ...message, note });
    }
  }

  writeFailed(node: SnapshotNode | undefined, kind: string, message: string): void {
    this.#publish(node, { type: "Warning", reason: "WriteFailed", action: actionOf(kind), note: message });
  }

  labelConflict(node: SnapshotNode | undefined, keys: readonly string[]): void {
    this.#publish(node, {
      type: "Warning",
      reason: "LabelContested",
      action: "WriteLabels",
      note: `another writer keeps changing ${keys.join(" and ")}; the operator restores it with increasing delays`,
    });
  }

  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.#reported) if (!names.has(name)) this.#reported.delete(name);
  }

  #publish(node: SnapshotNode | undefined, message: Message): void {
    if (node === undefined) return;
    const { name, uid } = node.metadata;
    this.#recorder.record({ regarding: { apiVersion: "v1", kind: "Node", name, uid }, ...message });
  }
}

const actionOf = (kind: string): string => `Write${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
