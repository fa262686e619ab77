import { annotations, type Pod } from "../api/index.ts";
import { formatDuration, inSeconds, milliseconds, parseDuration, type Seconds } from "../units/index.ts";
import { annotationOf } from "./pod-parts.ts";

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
