import { annotations } from "../../../core/api/index.ts";
import { workloadClasses } from "../../../core/demand/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { EventRecorder } from "../../../platform/kube/index.ts";
import { printable } from "../../../platform/log/index.ts";
import { EventBudget } from "./event-budget.ts";

export interface PodOfUnknownClass {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly text: string;
}

/** Publishes a warning Event on each Pod with an invalid class annotation, once per pod and value. */
export class UnknownClassEvents {
  readonly #recorder: Pick<EventRecorder, "record">;
  readonly #reported = new Map<string, string>();
  readonly #budget = new EventBudget();

  constructor(recorder: Pick<EventRecorder, "record">) {
    this.#recorder = recorder;
  }

  /** `pods` are all such pods; others are forgotten. */
  report(pods: Iterable<PodOfUnknownClass>, now: Instant): void {
    const present = new Set<string>();
    for (const pod of pods) {
      present.add(pod.uid);
      if (this.#reported.get(pod.uid) === pod.text || !this.#budget.take(now)) continue;
      this.#reported.set(pod.uid, pod.text);
      this.#record(pod);
    }
    for (const uid of this.#reported.keys()) if (!present.has(uid)) this.#reported.delete(uid);
  }

  #record({ namespace, name, uid, text }: PodOfUnknownClass): void {
    const value = quoted(text);
    const allowed = workloadClasses.map((one) => `"${one}"`).join(" and ");
    this.#recorder.record({
      regarding: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
      type: "Warning",
      reason: "UnknownWorkloadClass",
      action: "ReadWorkloadClass",
      note: `${annotations.workloadClass} is ${value}; allowed are ${allowed}. The pod counts as standard.`,
      series: value,
    });
  }
}

/** Quoted and on one line, because the text comes from users who may create pods. */
const quoted = (text: string): string => printable(JSON.stringify(text));
