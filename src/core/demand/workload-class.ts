import { annotations, type Pod } from "../api/index.ts";
import { annotationOf } from "./pod-parts.ts";

/** What a pod says about itself; standard unless it says performance. */
export const workloadClasses = ["performance", "standard"] as const;
export type WorkloadClass = (typeof workloadClasses)[number];

export interface WorkloadClassReading {
  readonly workloadClass: WorkloadClass;
  /** The beginning of the annotation's text where it names no class, for a caller to warn about once. */
  readonly unrecognised?: string;
}

const performance: WorkloadClassReading = { workloadClass: "performance" };
const standard: WorkloadClassReading = { workloadClass: "standard" };

export function workloadClassOf(pod: Pod): WorkloadClassReading {
  const text = annotationOf(pod, annotations.workloadClass);
  if (text === "performance") return performance;
  if (text === undefined || text === "standard") return standard;
  return { workloadClass: "standard", unrecognised: beginningOf(text) };
}

/** As long as a label value may be: that says which it is. */
const LONGEST = 63;

/** A copy, since a slice would keep the whole text: anybody who may create pods may write 256 KiB, in each of them. */
const beginningOf = (text: string): string =>
  text.length > LONGEST ? `${Array.from(text.slice(0, LONGEST)).join("")}…` : text;
