import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Clock, withTimeLimit } from "../../clock/index.ts";
import type { Transport } from "./transport.ts";

const CALL_TIMEOUT = milliseconds(5000);
/** The header Date has whole seconds, cut off: on average it is half a second behind. */
const CUT_OFF = 500;

/** How far the API server's clock is ahead of this machine's, to about a second; undefined if its answer has no time. */
export async function clockSkewOf(
  transport: Transport,
  clock: Clock,
  timeout: Milliseconds = CALL_TIMEOUT,
): Promise<Milliseconds | undefined> {
  return withTimeLimit(clock, timeout, async (signal) => {
    const before = clock.now();
    const { headers, body } = await transport.request({ method: "GET", path: "/version", signal });
    for await (const _ of body); // A connection is free for others once the body has been read.
    const there = Date.parse(headers["date"] ?? "");
    return Number.isNaN(there) ? undefined : milliseconds(there + CUT_OFF - (before + clock.now()) / 2);
  });
}
