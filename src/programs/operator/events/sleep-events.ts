import type { ClusterPlan, SnapshotNode } from "../../../core/planning/index.ts";
import type { SleepDecision, SleepMode, WaitForWake } from "../../../core/sleep/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { EventRecorder } from "../../../platform/kube/index.ts";
import { EventBudget } from "./event-budget.ts";

export class SleepEvents {
  readonly #recorder: Pick<EventRecorder, "record">;
  readonly #recommends: boolean;
  readonly #reported = new Map<string, string>();
  readonly #budget = new EventBudget();

  constructor(recorder: Pick<EventRecorder, "record">, mode: SleepMode) {
    this.#recorder = recorder;
    this.#recommends = mode === "recommend";
  }

  report(
    { sleep, at }: ClusterPlan,
    last: ClusterPlan | undefined,
    nodeOf: (name: string) => SnapshotNode | undefined,
  ): void {
    if (sleep === undefined) return;
    for (const decision of sleep.nodes.values()) {
      const { name, verdict } = decision;
      if (verdict !== "sleep" && verdict !== "wake") continue;
      if (last?.sleep?.nodes.get(name)?.verdict !== verdict) this.#aboutNode(nodeOf(name), decision);
    }
    this.#aboutPods(sleep.waits, at);
  }

  #aboutNode(node: SnapshotNode | undefined, { verdict, reason }: SleepDecision): void {
    if (node === undefined) return;
    const { name, uid } = node.metadata;
    const what = verdict === "sleep" ? "sleep" : "wake";
    this.#recorder.record({
      regarding: { apiVersion: "v1", kind: "Node", name, uid },
      type: "Normal",
      reason: `${what === "sleep" ? "Sleep" : "Wake"}${this.#recommends ? "Recommended" : "Decided"}`,
      action: "DecidePower",
      note: `${this.#recommends ? "would " : ""}${what}: ${reason}`,
    });
  }

  #aboutPods(waits: readonly WaitForWake[], at: Instant): void {
    const present = new Set<string>();
    for (const { pod, node, wakeTime } of waits) {
      const { reference } = pod;
      if (reference === undefined || this.#recommends) continue;
      present.add(reference.uid);
      if (this.#reported.get(reference.uid) === node || !this.#budget.take(at)) continue;
      this.#reported.set(reference.uid, node);
      this.#recorder.record({
        regarding: { apiVersion: "v1", kind: "Pod", ...reference },
        type: "Normal",
        reason: "WaitsForNode",
        action: "WakeNode",
        note: `waking node ${node}, about ${Math.max(1, Math.round(wakeTime / 60))} min`,
      });
    }
    for (const uid of this.#reported.keys()) if (!present.has(uid)) this.#reported.delete(uid);
  }
}
