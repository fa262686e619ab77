import { annotations, type Pod } from "../api/index.ts";
import { annotationOf } from "./pod-parts.ts";

/** The class that a pod declares in its annotation; the default is standard. */
export const workloadClasses = ["performance", "standard"] as const;
export type WorkloadClass = (typeof workloadClasses)[number];

export interface WorkloadClassReading {
  readonly workloadClass: WorkloadClass;
  /** The beginning of an invalid annotation value, so that the caller can warn about it once. */
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

/** The maximum length of a label value; enough to identify the text. */
const MAX_LENGTH = 63;

/** Copies the text, because a slice would retain the whole string. Users may write 256 KiB into the annotation of each pod. */
const beginningOf = (text: string): string =>
  text.length > MAX_LENGTH ? `${Array.from(text.slice(0, MAX_LENGTH)).join("")}…` : text;
