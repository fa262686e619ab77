import { annotations } from "../../../core/api/index.ts";
import { workloadClasses } from "../../../core/demand/index.ts";
import { type Instant, instant } from "../../../core/units/index.ts";
import type { EventRecorder } from "../../../platform/kube/index.ts";
import { printable } from "../../../platform/log/index.ts";

/** A pod with an invalid class annotation. */
export interface PodOfUnknownClass {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The value of the annotation, shortened. */
  readonly text: string;
}

/** A Deployment with a thousand replicas is one mistake. Its Events must not displace Events about nodes. */
const MAX_PER_MINUTE = 50;
const MINUTE = 60_000;

/** Publishes a warning Event on each Pod with an invalid class annotation, once per pod and value. */
export class UnknownClassEvents {
  readonly #recorder: Pick<EventRecorder, "record">;
  /** The reported value of each pod, by uid. */
  readonly #reported = new Map<string, string>();
  #minute = { since: instant(Number.NEGATIVE_INFINITY), count: 0 };

  constructor(recorder: Pick<EventRecorder, "record">) {
    this.#recorder = recorder;
  }

  /** `pods` are all such pods; others are forgotten. */
  report(pods: Iterable<PodOfUnknownClass>, now: Instant): void {
    const present = new Set<string>();
    for (const pod of pods) {
      present.add(pod.uid);
      if (this.#reported.get(pod.uid) === pod.text || !this.#mayReport(now)) continue;
      this.#reported.set(pod.uid, pod.text);
      this.#record(pod);
    }
    for (const uid of this.#reported.keys()) if (!present.has(uid)) this.#reported.delete(uid);
  }

  #mayReport(now: Instant): boolean {
    if (Math.abs(now - this.#minute.since) >= MINUTE) this.#minute = { since: now, count: 0 };
    return this.#minute.count++ < MAX_PER_MINUTE;
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
