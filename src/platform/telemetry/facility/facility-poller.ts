import type { FacilityReading, FacilityReadings } from "../../../core/planning/index.ts";
import {
  type Celsius,
  celsius,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  type Watts,
} from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { jittered, type RandomSource } from "../../random/index.ts";
import { DropCounter, type DropReason, faultOf } from "../dropped-samples.ts";
import { TelemetryError } from "../errors.ts";
import type { PrometheusClient, PrometheusSample } from "../prometheus/prometheus-client.ts";
import { sumPower } from "../prometheus/sum-power.ts";
import { fillPromql, type Placeholder, UNION_LABEL, unionOf } from "../template.ts";

/** PromQL queries. Zone and rack queries contain `{zone}` or `{rack}`. A value without a query is not read. */
export interface FacilityQueries {
  readonly ambient?: string;
  readonly it?: string;
  readonly cooling?: string;
  readonly zoneAmbient?: string | undefined;
  readonly zoneIt?: string | undefined;
  readonly zoneCooling?: string | undefined;
  readonly rackPower?: string | undefined;
}
export type FacilityFigure = keyof FacilityQueries;

/** The result of polling one value. */
export interface FacilityPollReport {
  readonly figure: FacilityFigure;
  readonly dropped: ReadonlyMap<DropReason, number>;
  readonly problem?: TelemetryError;
}

export interface FacilityPollerOptions {
  /** If false, no query is sent and nothing is known: the model then uses a PUE of 1 and 20 °C. */
  readonly enabled: boolean;
  readonly prometheus: PrometheusClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly interval: Milliseconds;
  readonly queries: FacilityQueries;
  /** The zones and racks in the nodes' labels. */
  readonly places: () => { readonly zones: Iterable<string>; readonly racks: Iterable<string> };
  readonly report?: (report: FacilityPollReport) => void;
}

const figures: Readonly<Record<FacilityFigure, { of: "site" | "zones" | "racks"; is: "temperature" | "power" }>> = {
  ambient: { of: "site", is: "temperature" },
  it: { of: "site", is: "power" },
  cooling: { of: "site", is: "power" },
  zoneAmbient: { of: "zones", is: "temperature" },
  zoneIt: { of: "zones", is: "power" },
  zoneCooling: { of: "zones", is: "power" },
  rackPower: { of: "racks", is: "power" },
};
const placeholders: Readonly<Record<"zones" | "racks", Placeholder>> = { zones: "{zone}", racks: "{rack}" };

/** The last value stays valid for this many intervals if polls fail. */
const TTL_INTERVALS = 3;
const SPREAD = 0.1;
/** Zones or racks per query: two hundred racks take two queries. */
const PLACES_PER_QUERY = 100;

/** Polls facility values in the background, each independently. A value stays valid for three intervals. */
export class FacilityPoller {
  readonly #options: FacilityPollerOptions;
  readonly #values: Readonly<Record<FacilityFigure, ExpiringValues<number>>>;

  constructor(options: FacilityPollerOptions) {
    this.#options = options;
    const ttl = milliseconds(TTL_INTERVALS * options.interval);
    const create = () => new ExpiringValues<number>(ttl);
    this.#values = {
      ambient: create(),
      it: create(),
      cooling: create(),
      zoneAmbient: create(),
      zoneIt: create(),
      zoneCooling: create(),
      rackPower: create(),
    };
  }

  /** Polls at once and then every interval until aborted. Calls `onPoll` after each poll, or once if polling is disabled. */
  async run(signal: AbortSignal, onPoll?: () => void): Promise<void> {
    const { enabled, clock, random, interval } = this.#options;
    if (!enabled) {
      onPoll?.();
      return;
    }
    try {
      for (;;) {
        await this.#poll(signal);
        onPoll?.();
        await clock.sleep(jittered(interval, SPREAD, random), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { zones, racks } = this.#options.places();
    const places = { zones: [...new Set(zones)], racks: [...new Set(racks)] };
    const names = Object.keys(figures) as FacilityFigure[];
    await Promise.all(names.map(async (figure) => this.#pollFigure(figure, places, signal)));
  }

  /** The values that are valid now. */
  snapshot(): FacilityReadings {
    const now = this.#options.clock.monotonic();
    const { ambient, it, cooling, zoneAmbient, zoneIt, zoneCooling, rackPower } = this.#values;
    const names = new Set([zoneAmbient, zoneIt, zoneCooling].flatMap((values) => values.names(now)));
    return {
      site: reading(ambient.get(SITE, now), it.get(SITE, now), cooling.get(SITE, now)),
      zones: new Map(
        Array.from(names, (zone) => [
          zone,
          reading(zoneAmbient.get(zone, now), zoneIt.get(zone, now), zoneCooling.get(zone, now)),
        ]),
      ),
      racks: new Map(rackPower.names(now).map((rack) => [rack, rackPower.get(rack, now) as Watts])),
    };
  }

  async #pollFigure(
    figure: FacilityFigure,
    places: { readonly zones: readonly string[]; readonly racks: readonly string[] },
    signal: AbortSignal,
  ): Promise<void> {
    const { prometheus, clock, queries, report } = this.#options;
    const query = queries[figure];
    if (query === undefined) return;
    const { of, is } = figures[figure];
    const drops = new DropCounter();
    let problem: TelemetryError | undefined;
    for (const part of of === "site" ? [siteQuery(query)] : placeQueries(query, placeholders[of], places[of])) {
      try {
        const samples = await prometheus.query(part.expression, signal);
        for (const [place, ofPlace] of Map.groupBy(samples, part.placeOf)) {
          if (place === undefined) {
            drops.add("unmatched", ofPlace.length);
            continue;
          }
          const judging = this.#judging(drops);
          const value = is === "power" ? sumPower(ofPlace, judging)?.power : median(ofPlace, judging);
          if (value !== undefined) this.#values[figure].set(place, value, clock.monotonic());
        }
      } catch (error) {
        if (!(error instanceof TelemetryError)) throw error;
        problem = error;
      }
    }
    this.#values[figure].deleteExpired(clock.monotonic());
    report?.({ figure, dropped: drops.counts, ...(problem && { problem }) });
  }

  #judging = (drops: DropCounter) => ({ now: this.#options.clock.now(), drops });
}

const SITE = "";

interface PartialQuery {
  readonly expression: string;
  readonly placeOf: (sample: PrometheusSample) => string | undefined;
}

const siteQuery = (query: string): PartialQuery => ({ expression: query, placeOf: () => SITE });

function* placeQueries(
  template: string,
  placeholder: Placeholder,
  places: readonly string[],
): Generator<PartialQuery, void, undefined> {
  for (let start = 0; start < places.length; start += PLACES_PER_QUERY) {
    const some = places.slice(start, start + PLACES_PER_QUERY);
    yield {
      expression: unionOf(some.map((place) => fillPromql(template, placeholder, place))),
      placeOf: ({ labels }) => some[Number(labels[UNION_LABEL] ?? Number.NaN)],
    };
  }
}

const reading = (
  ambient: number | undefined,
  it: number | undefined,
  cooling: number | undefined,
): FacilityReading => ({
  ...(ambient !== undefined && { ambient: ambient as Celsius }),
  ...(it !== undefined && { it: it as Watts }),
  ...(cooling !== undefined && { cooling: cooling as Watts }),
});

/** The median of several thermometers, so that one broken sensor has no effect. Negative temperatures are valid. */
function median(
  samples: readonly PrometheusSample[],
  { now, drops }: Parameters<typeof sumPower>[1],
): Celsius | undefined {
  const values: number[] = [];
  for (const sample of samples) {
    const fault = faultOf(sample, now, "any");
    if (fault === undefined) values.push(sample.value);
    else drops.add(fault);
  }
  values.sort((a, b) => a - b);
  const upper = values[values.length >> 1];
  const lower = values[(values.length - 1) >> 1];
  return upper === undefined || lower === undefined ? undefined : celsius(lower / 2 + upper / 2);
}

/** Values by name that expire some time after they were read. */
class ExpiringValues<Value> {
  readonly #ttl: Milliseconds;
  readonly #values = new Map<string, { readonly value: Value; readonly readAt: MonotonicInstant }>();

  constructor(ttl: Milliseconds) {
    this.#ttl = ttl;
  }

  set(name: string, value: Value, readAt: MonotonicInstant): void {
    this.#values.set(name, { value, readAt });
  }

  get(name: string, now: MonotonicInstant): Value | undefined {
    const entry = this.#values.get(name);
    return entry !== undefined && now - entry.readAt <= this.#ttl ? entry.value : undefined;
  }

  names(now: MonotonicInstant): string[] {
    return [...this.#values.keys()].filter((name) => this.get(name, now) !== undefined);
  }

  deleteExpired(now: MonotonicInstant): void {
    for (const name of this.#values.keys()) if (this.get(name, now) === undefined) this.#values.delete(name);
  }
}
