import { ApiError, isApiError } from "../client/errors.ts";
import type { KubeObject } from "../client/object.ts";
import type { ListPage } from "../client/pages.ts";
import type { ProbeResult } from "./idle-watchdog.ts";
import { comesAfter } from "./resource-version.ts";

export interface ProbeOptions {
  /** Lists one object, to get the server's current resourceVersion over another connection. */
  readonly ask: () => Promise<ListPage>;
  /** The watch's current resourceVersion. */
  readonly at: () => string;
}

/** Checks with one small list whether a silent watch missed changes. */
export async function probeWatch({ ask, at }: ProbeOptions): Promise<ProbeResult> {
  let page: ListPage;
  try {
    page = await ask();
  } catch (error) {
    // An overloaded server says nothing about the watch.
    if (isApiError(error, "tooMany", "busy")) return "unsure";
    throw error;
  }
  const come = at();
  if (page.resourceVersion === come) return "nothing missed";
  if (comesAfter(come, page.resourceVersion) === true) {
    return new ApiError(
      "gone",
      `the server's resourceVersion went back to ${page.resourceVersion}: it was probably restored from a backup`,
    );
  }
  // The list's resourceVersion advances with every kind; an object's own does not.
  const isNewer = ({ metadata }: KubeObject) => comesAfter(metadata.resourceVersion ?? "", come) === true;
  return page.items.some(isNewer) ? "missed" : "unsure";
}
