import * as z from "zod";
import type { Logger } from "../../../platform/log/index.ts";
import type { ProgramPages } from "./program-pages.ts";

const entry = z.object({ reason: z.string() });

/** Asks the operator why a node has its profile. Undefined if it does not answer: the page then says what the API shows. */
export function planReasons(pages: ProgramPages, log: Logger): (node: string) => Promise<string | undefined> {
  let isFailing = false;
  return async (node) => {
    try {
      const found = (await pages.read("debug/plan", { node })).map((answer) => entry.safeParse(answer).data?.reason);
      isFailing = false;
      return found.find((reason) => reason !== undefined);
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, "cannot read the operator's plan");
      isFailing = true;
      return undefined;
    }
  };
}
