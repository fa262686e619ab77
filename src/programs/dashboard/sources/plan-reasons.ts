import * as z from "zod";
import type { Logger } from "../../../platform/log/index.ts";
import type { HttpClient } from "../../../platform/telemetry/index.ts";

const entry = z.object({ reason: z.string() });

/** Asks the operator why a node has its profile. Undefined if it does not answer: the page then says what the API shows. */
export function planReasons(url: string, http: HttpClient, log: Logger): (node: string) => Promise<string | undefined> {
  let isFailing = false;
  return async (node) => {
    const page = new URL("debug/plan", `${url.replace(/\/*$/, "")}/`);
    page.searchParams.set("node", node);
    try {
      const found = entry.safeParse(await http.json({ url: page }));
      isFailing = false;
      return found.data?.reason;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, "cannot read the operator's plan");
      isFailing = true;
      return undefined;
    }
  };
}
