import { type PodRequests, podRequests } from "../../../core/demand/index.ts";
import { type Instant, instant, type RandomSource, type Seconds } from "../../../core/units/index.ts";
import { storedArrivals } from "../../operator/index.ts";
import { type ArrivalOptions, jobArrivals } from "./arrivals.ts";

const DAY = 24 * 3600;

export interface LastDayOptions {
  readonly fleet: ArrivalOptions["fleet"];
  readonly load: number;
  readonly random: RandomSource;
  /** Simulated time. */
  readonly now: Instant;
  /** Of the site. */
  readonly timeOfDay: Seconds;
}

/** As if an operator had watched the last day: else it would keep room for as many jobs as arrive at the start. */
export function lastDayArrivals({ now, ...options }: LastDayOptions): ReturnType<typeof storedArrivals> {
  return storedArrivals(podsOf({ ...options, performanceShare: 0 }, now), now);
}

function* podsOf(options: ArrivalOptions, now: Instant) {
  const requests = new Map<string, PodRequests>();
  const nodes = {};
  for (const { at, cores, gpus } of jobArrivals(options)) {
    if (at >= DAY) return;
    // The jobs at the start arrived at other times.
    if (at === 0) continue;
    const key = `${cores} ${gpus?.resource} ${gpus?.count}`;
    let asked = requests.get(key);
    if (asked === undefined) {
      const amounts = new Map([["cpu", cores]]);
      if (gpus !== undefined) amounts.set(gpus.resource, gpus.count);
      requests.set(key, (asked = podRequests(amounts)));
    }
    yield { createdAt: earlier(now, at), requests: asked, nodes };
  }
}

const earlier = (now: Instant, at: Seconds): Instant => instant(now - 1000 * (DAY - at));
