import { isApiError } from "./errors.ts";
import type { KubeObject } from "./object.ts";

/** One page of a list. All pages of one list show the same moment. */
export interface ListPage<Item extends KubeObject = KubeObject> {
  readonly items: readonly Item[];
  /** The moment the page shows: where a watch goes on from. */
  readonly resourceVersion: string;
  /** The token for the next page; undefined on the last one. */
  readonly next?: string;
}

export interface PageReader<Item extends KubeObject> {
  readonly fetch: (page: { limit?: number; next?: string }) => Promise<ListPage<Item>>;
  /** Everything begins anew: what earlier pages brought no longer counts. */
  readonly begin: () => void;
  readonly page: (items: readonly Item[]) => void;
  readonly pageSize: number;
}

/** After so many starts the server forgets pages faster than we read them, and one big page is the way out. */
const PAGED_STARTS = 3;

/**
 * Reads a list to its end and returns its resourceVersion. A page token that has expired (410) starts the list anew:
 * pages of two moments would show an object twice or not at all. A page too large to hold is asked for in halves.
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
    // A watch from the first page's moment misses nothing, even where a server dates later pages later.
    first ??= page.resourceVersion;
    reader.page(page.items);
    next = page.next;
    if (next === undefined) return first;
  }
}
