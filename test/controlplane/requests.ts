import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { harnessAgent } from "./api.ts";

/** Completed requests of one kind. The API server counts long-running ones (WATCH) when they end. */
export interface RequestCount {
  /** GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE … */
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly code: string;
  readonly count: number;
}

/** Counts from the text of /metrics: the series of apiserver_request_total, summed over the other labels. */
export function requestCounts(metrics: string): RequestCount[] {
  const sums = new Map<string, RequestCount>();
  for (const [, text = "", value] of metrics.matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const labels = Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, label]) => [name, label]));
    const { verb = "", group = "", resource = "", subresource = "", code = "" } = labels as Record<string, string>;
    const key = JSON.stringify([verb, group, resource, subresource, code]);
    const count = (sums.get(key)?.count ?? 0) + Number(value);
    sums.set(key, { verb, group, resource, subresource, code, count });
  }
  return [...sums.values()];
}

/** The difference between two scrapes. */
export function newRequests(before: readonly RequestCount[], after: readonly RequestCount[]): RequestCount[] {
  const keyOf = (entry: RequestCount) => JSON.stringify({ ...entry, count: undefined });
  const old = new Map(before.map((entry) => [keyOf(entry), entry.count]));
  return after
    .map((entry) => ({ ...entry, count: entry.count - (old.get(keyOf(entry)) ?? 0) }))
    .filter(({ count }) => count > 0);
}

/** One request of the audit log, with its user. */
export interface AuditedRequest {
  readonly user: string;
  readonly userAgent: string;
  /** The RBAC verb: get, list, watch, create, update, patch, delete … */
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** Empty for a collection, unless a field selector names one object. */
  readonly name: string;
  readonly path: string;
  readonly code: number;
  /** When the server received it, as milliseconds of the epoch. */
  readonly at: number;
}

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: {
    apiGroup?: string;
    resource?: string;
    subresource?: string;
    namespace?: string;
    name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** Logs every request when it completes, and a watch as soon as it starts. */
export const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

/** Requests of the log except the harness's own, from a byte at which a line begins. */
export function readAudit(file: string, from = 0): AuditedRequest[] {
  if (!existsSync(file)) return [];
  const lines = bytesFrom(file, from).toString("utf8").split("\n");
  // The last line may be incomplete.
  return lines.slice(0, -1).flatMap((line) => {
    const { stage, ...event } = JSON.parse(line) as AuditEvent & { stage: string };
    if (event.verb === "watch" ? stage !== "ResponseStarted" : stage !== "ResponseComplete") return [];
    if (event.userAgent === harnessAgent) return [];
    return [
      {
        user: event.user.username,
        userAgent: event.userAgent ?? "",
        verb: event.verb,
        group: event.objectRef?.apiGroup ?? "",
        resource: event.objectRef?.resource ?? "",
        subresource: event.objectRef?.subresource ?? "",
        namespace: event.objectRef?.namespace ?? "",
        name: event.objectRef?.name ?? "",
        path: event.requestURI,
        code: event.responseStatus?.code ?? 0,
        at: Date.parse(event.requestReceivedTimestamp),
      },
    ];
  });
}

/** The end of the last complete line, for a later `readAudit`: after many requests the whole log is too long for a string. */
export function auditEnd(file: string): number {
  if (!existsSync(file)) return 0;
  const { size } = statSync(file);
  const start = Math.max(0, size - MAX_LINE_LENGTH);
  return start + bytesFrom(file, start).lastIndexOf("\n") + 1;
}
const MAX_LINE_LENGTH = 64 * 1024;

function bytesFrom(file: string, from: number): Buffer {
  const descriptor = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(descriptor).size - from));
    return bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, from));
  } finally {
    closeSync(descriptor);
  }
}
