import { ApiError, isApiError } from "../client/errors.ts";
import type { KubeObject } from "../client/object.ts";
import type { ListPage } from "../client/pages.ts";
import type { ProbeResult } from "./idle-watchdog.ts";
import { comesAfter } from "./resource-version.ts";

export interface ProbeOptions {
  /** One object and the moment the server is at: little to ask for, over a connection of its own. */
  readonly ask: () => Promise<ListPage>;
  /** How far the watch has come. */
  readonly at: () => string;
}

/** Whether a silent watch missed something, as far as one small list tells. */
export async function probeWatch({ ask, at }: ProbeOptions): Promise<ProbeResult> {
  let page: ListPage;
  try {
    page = await ask();
  } catch (error) {
    // A server that has no time for a question says nothing about the watch.
    if (isApiError(error, "tooMany", "busy")) return "unsure";
    throw error;
  }
  const come = at();
  if (page.resourceVersion === come) return "nothing missed";
  if (comesAfter(come, page.resourceVersion) === true) {
    return new ApiError("gone", `the server is at ${page.resourceVersion}, before what it showed us: it was set back`);
  }
  // The server's moment moves with every object of every kind; an object's own moment does not.
  const isNewer = ({ metadata }: KubeObject) => comesAfter(metadata.resourceVersion ?? "", come) === true;
  return page.items.some(isNewer) ? "missed" : "unsure";
}
