import { isApiError } from "./errors.ts";
import type { KubeObject } from "./object.ts";

/** One page of a list. All pages of a list have the same resourceVersion. */
export interface ListPage<Item extends KubeObject = KubeObject> {
  readonly items: readonly Item[];
  /** A watch can start from this resourceVersion. */
  readonly resourceVersion: string;
  /** The continue token; undefined on the last page. */
  readonly next?: string;
}

export interface PageReader<Item extends KubeObject> {
  readonly fetch: (page: { limit?: number; next?: string }) => Promise<ListPage<Item>>;
  /** The list restarts: discard the earlier pages. */
  readonly begin: () => void;
  readonly page: (items: readonly Item[]) => void;
  readonly pageSize: number;
}

/** After this many restarts the list is read in one page, because continue tokens expire too fast. */
const PAGED_STARTS = 3;

/**
 * Reads a whole list and returns its resourceVersion. An expired continue token (410) restarts the list, because
 * pages of two resourceVersions could repeat or miss an object. A page that is too large is requested again at half size.
 */
export async function readPages<Item extends KubeObject>(reader: PageReader<Item>): Promise<string> {
  let size = Math.max(1, Math.floor(reader.pageSize));
  for (let starts = 1; ; ) {
    reader.begin();
    try {
      return await readOnce(reader, starts <= PAGED_STARTS ? size : undefined);
    } catch (error) {
      if (isApiError(error, "gone") && starts <= PAGED_STARTS) starts++;
      else if (isApiError(error, "tooLarge") && starts <= PAGED_STARTS && size > 1) size = Math.floor(size / 2);
      else throw error;
    }
  }
}

async function readOnce<Item extends KubeObject>(reader: PageReader<Item>, limit: number | undefined): Promise<string> {
  let first: string | undefined;
  for (let next: string | undefined; ; ) {
    const page = await reader.fetch({ ...(limit !== undefined && { limit }), ...(next !== undefined && { next }) });
    // A watch from the first page's resourceVersion misses nothing, even if later pages report a newer one.
    first ??= page.resourceVersion;
    reader.page(page.items);
    next = page.next;
    if (next === undefined) return first;
  }
}
