import { after, type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Clock, clockWithCalendar, withTimeLimit } from "../../clock/index.ts";
import type { Transport } from "./transport.ts";

const CALL_TIMEOUT = milliseconds(5000);
/** The header Date has whole seconds, cut off: on average it is half a second behind. */
const CUT_OFF = 500;
/** Clocks that differ by less count as equal. */
const EXACT_TO = 2000;

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

/** The API server's time, which objects carry and commands count in. */
export class ServerTime {
  readonly #transport: Transport;
  readonly #local: Clock;
  #skew: Milliseconds | undefined;

  constructor(transport: Transport, local: Clock) {
    this.#transport = transport;
    this.#local = local;
  }

  /** Compares the clocks again: the time of a demo passes faster. A server that does not answer changes nothing. */
  async measure(): Promise<void> {
    this.#skew = (await clockSkewOf(this.#transport, this.#local).catch(() => undefined)) ?? this.#skew;
  }

  /** How far the API server's clock is ahead of this machine's; undefined if unknown. */
  get skew(): Milliseconds | undefined {
    return this.#skew;
  }

  /** This machine's clock if both agree: the server's answer has whole seconds. */
  get clock(): Clock {
    const local = this.#local;
    const shift = () => (this.#skew === undefined || Math.abs(this.#skew) <= EXACT_TO ? milliseconds(0) : this.#skew);
    return clockWithCalendar(local, { now: () => after(local.now(), shift()) });
  }
}
