import { ApiError, describeCall, errorFromNetwork, errorFromStatus } from "../client/errors.ts";
import { isRecord, type KubeObject } from "../client/object.ts";
import type { ApiRequest } from "../client/transport.ts";
import { linesOf } from "./watch-lines.ts";

export interface WatchEvent<Item extends KubeObject = KubeObject> {
  /** A BOOKMARK carries only `metadata.resourceVersion`. */
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: Item;
}

type Call = Pick<ApiRequest, "method" | "path">;

/** Parses the events of a watch. Yields the complete events before a bad line, then throws. */
export async function* watchEvents<Item extends KubeObject>(
  call: Call,
  body: AsyncIterable<Uint8Array>,
  { signal, lean = false }: { readonly signal: AbortSignal; readonly lean?: boolean },
): AsyncGenerator<readonly WatchEvent<Item>[], void, undefined> {
  try {
    for await (const lines of linesOf(body, { lean })) {
      const events: WatchEvent<Item>[] = [];
      const failure = parseInto(events, call, lines);
      if (events.length > 0) yield events;
      if (failure !== undefined) throw failure;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error instanceof ApiError ? error : errorFromNetwork(call, error);
  }
}

function parseInto<Item extends KubeObject>(
  events: WatchEvent<Item>[],
  call: Call,
  lines: readonly string[],
): ApiError | undefined {
  for (const line of lines) {
    if (line === "") continue;
    let event: unknown;
    try {
      event = JSON.parse(line);
    } catch (cause) {
      return new ApiError("garbled", `${describeCall(call)}: not an event: ${line.slice(0, 80)}`, { cause });
    }
    if (isEvent<Item>(event)) events.push(event);
    else if (isRecord(event) && event.type === "ERROR") return errorFromStatus(call, event.object);
    else return new ApiError("garbled", `${describeCall(call)}: not an event: ${line.slice(0, 80)}`);
  }
  return undefined;
}

function isEvent<Item extends KubeObject>(event: unknown): event is WatchEvent<Item> {
  if (!isRecord(event) || !isRecord(event.object) || !isRecord(event.object.metadata)) return false;
  const { name, resourceVersion } = event.object.metadata;
  if (typeof resourceVersion !== "string") return false;
  switch (event.type) {
    case "BOOKMARK":
      return true;
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return typeof name === "string";
    default:
      return false;
  }
}
