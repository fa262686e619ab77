import { redactText } from "../../log/index.ts";
import { type Reply, textReply } from "../reply.ts";

/** What a debug page shows, as a value for JSON; undefined = nothing is known about what the query asks for. */
export type DebugPage = (query: URLSearchParams) => unknown;

/** JSON on one line for programs, over many for people who add `?pretty`. */
export async function pageReply(page: DebugPage, query: URLSearchParams): Promise<Reply> {
  const value = await page(query);
  const json: string | undefined = JSON.stringify(value, undefined, query.has("pretty") ? 2 : undefined);
  if (json === undefined) return textReply(404, "nothing is known about that");
  // The page has what the log has, and passes the same gate.
  return { status: 200, type: "application/json", body: `${redactText(json)}\n` };
}
