import { annotations } from "../../../core/api/index.ts";
import { workloadClasses } from "../../../core/demand/index.ts";
import { type Instant, instant } from "../../../core/units/index.ts";
import type { EventRecorder } from "../../../platform/kube/index.ts";
import { printable } from "../../../platform/log/index.ts";

/** A pod whose class annotation names no class. */
export interface PodOfUnknownClass {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** What the annotation says, shortened. */
  readonly text: string;
}

/** A Deployment of a thousand replicas is one mistake: its events must not crowd out those about nodes. */
const MOST_PER_MINUTE = 50;
const MINUTE = 60_000;

/** Warns on each Pod whose class annotation is misspelt, once per pod and value. */
export class UnknownClassEvents {
  readonly #recorder: Pick<EventRecorder, "record">;
  /** The text each pod was warned about, by uid. */
  readonly #reported = new Map<string, string>();
  #minute = { since: instant(Number.NEGATIVE_INFINITY), count: 0 };

  constructor(recorder: Pick<EventRecorder, "record">) {
    this.#recorder = recorder;
  }

  /** `pods` are all there are now: the others are forgotten. */
  report(pods: Iterable<PodOfUnknownClass>, now: Instant): void {
    const there = new Set<string>();
    for (const pod of pods) {
      there.add(pod.uid);
      if (this.#reported.get(pod.uid) === pod.text || !this.#mayReport(now)) continue;
      this.#reported.set(pod.uid, pod.text);
      this.#record(pod);
    }
    for (const uid of this.#reported.keys()) if (!there.has(uid)) this.#reported.delete(uid);
  }

  #mayReport(now: Instant): boolean {
    if (Math.abs(now - this.#minute.since) >= MINUTE) this.#minute = { since: now, count: 0 };
    return this.#minute.count++ < MOST_PER_MINUTE;
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

/** In quotes and on one line: anybody who may create pods chooses the text. */
const quoted = (text: string): string => printable(JSON.stringify(text));
