import type { ObjectName } from "../client/object.ts";

/** The object an event is about. */
export interface EventSubject extends ObjectName {
  readonly apiVersion: string;
  readonly kind: string;
  readonly uid?: string;
}

export interface EventNote {
  readonly regarding: EventSubject;
  readonly type: "Normal" | "Warning";
  /** Why, in one CamelCase word. */
  readonly reason: string;
  /** What was done or tried, in one CamelCase word. */
  readonly action: string;
  /** A sentence for people. */
  readonly note: string;
  /** Tells apart what is another thing though all but the note is the same; else it is counted as the same thing again. */
  readonly series?: string;
}

interface EventFacts {
  readonly name: string;
  /** When it was last seen. */
  readonly at: string;
  readonly count: number;
  readonly controller: string;
  readonly instance: string;
}

/** A note as events.k8s.io/v1 wants it, within the lengths it allows. */
export function eventObject(about: EventNote, { name, at, count, controller, instance }: EventFacts) {
  const { apiVersion, kind, uid, name: subject, namespace } = about.regarding;
  return {
    metadata: { name, namespace: namespaceOf(about.regarding) },
    eventTime: at,
    reportingController: controller.slice(0, 128),
    reportingInstance: instance.slice(0, 128),
    action: about.action.slice(0, 128),
    reason: about.reason.slice(0, 128),
    type: about.type,
    note: shortened(about.note),
    regarding: {
      apiVersion,
      kind,
      name: subject,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
    },
    ...(count > 1 && { series: { count, lastObservedTime: at } }),
  };
}

/** Events about what belongs to no namespace live in `default`; the server insists. */
export const namespaceOf = ({ namespace }: EventSubject): string => namespace ?? "default";

/** The API allows 1 KiB, counted in bytes. */
function shortened(note: string): string {
  if (Buffer.byteLength(note) <= 1024) return note;
  let end = Math.min(note.length, 1021);
  while (Buffer.byteLength(note.slice(0, end)) > 1021) end--;
  return `${note.slice(0, end).toWellFormed()}...`;
}
