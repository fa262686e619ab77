import { annotations, type Pod } from "../api/index.ts";
import { formatDuration, inSeconds, milliseconds, parseDuration, type Seconds } from "../units/index.ts";
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

/** How long a pod is expected to run, as its annotation says. */
export interface ExpectedDuration {
  /** Undefined without a valid annotation. */
  readonly duration: Seconds | undefined;
  /** Why the annotation is ignored. It quotes only the beginning of a text that users write. */
  readonly problem?: string;
}

const SHORTEST = milliseconds(1000);
const MAX_DURATION = milliseconds(30 * 24 * 3_600_000);
/** Longer texts are not durations, and parsing them would cost time. */
const MAX_TEXT_LENGTH = 40;

const undeclared: ExpectedDuration = { duration: undefined };

export function expectedDurationOf(pod: Pod): ExpectedDuration {
  const text: unknown = annotationOf(pod, annotations.expectedDuration);
  if (text === undefined) return undeclared;
  // JSON may contain any type here, whatever the types say.
  if (typeof text !== "string") return ignored(`it is a ${typeof text}, not a text`);
  if (text.length > MAX_TEXT_LENGTH) return ignored(`its ${text.length} characters are no duration such as 45m`);
  const parsed = parseDuration(text);
  if (!parsed.ok) return ignored(`"${text}" is no duration such as 45m`);
  const { value } = parsed;
  if (value < SHORTEST || value > MAX_DURATION) {
    return ignored(`${text} is not between ${formatDuration(SHORTEST)} and ${formatDuration(MAX_DURATION)}`);
  }
  return { duration: inSeconds(value) };
}

const ignored = (reason: string): ExpectedDuration => ({
  duration: undefined,
  problem: `${annotations.expectedDuration} is ignored: ${reason}`,
});
