import { redactText } from "../../log/index.ts";
import { type Reply, textReply } from "../reply.ts";

/** Returns the content of a debug page as a JSON value; undefined if there is nothing for this query. */
export type DebugPage = (query: URLSearchParams) => unknown;

/** Produces a debug page itself, for example as a stream; undefined if there is nothing for this query. */
export type StreamedPage = (query: URLSearchParams) => Reply | undefined;

/** JSON on one line, or indented with `?pretty`. */
export async function pageReply(page: DebugPage, query: URLSearchParams): Promise<Reply> {
  const value = await page(query);
  const json: string | undefined = JSON.stringify(value, undefined, query.has("pretty") ? 2 : undefined);
  if (json === undefined) return nothingFound();
  // Pages contain the same data as the log, so they get the same redaction.
  return { status: 200, type: "application/json", body: `${redactText(json)}\n` };
}

export const nothingFound = (): Reply => textReply(404, "nothing found for this query");
