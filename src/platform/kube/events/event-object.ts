import type { ObjectName } from "../client/object.ts";

/** The object of an event. */
export interface EventSubject extends ObjectName {
  readonly apiVersion: string;
  readonly kind: string;
  readonly uid?: string;
}

export interface EventNote {
  readonly regarding: EventSubject;
  readonly type: "Normal" | "Warning";
  /** The reason, in CamelCase. */
  readonly reason: string;
  /** The action taken or attempted, in CamelCase. */
  readonly action: string;
  /** A human-readable message. */
  readonly note: string;
  /** Distinguishes events that differ only in their note; without it they count as one series. */
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

/** Builds an events.k8s.io/v1 object within the API's length limits. */
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

/** The API server requires events of cluster-scoped objects to be in `default`. */
export const namespaceOf = ({ namespace }: EventSubject): string => namespace ?? "default";

/** Shortens a note to the API's limit of 1 KiB. */
function shortened(note: string): string {
  if (Buffer.byteLength(note) <= 1024) return note;
  let end = Math.min(note.length, 1021);
  while (Buffer.byteLength(note.slice(0, end)) > 1021) end--;
  return `${note.slice(0, end).toWellFormed()}...`;
}
