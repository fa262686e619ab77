import { afterEach, describe, expect, it } from "vitest";
import { ambientOf, estimatedPue } from "../../../core/twin/index.ts";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { eventually, VirtualClock } from "../../clock/testing/index.ts";
import { PrometheusClient } from "../prometheus/prometheus-client.ts";
import { type FakeReply, FakeServer, queryOf, vector } from "../testing/fake-server.ts";
import {
  FacilityPoller,
  type FacilityPollerOptions,
  type FacilityPollReport,
  type FacilityQueries,
} from "./facility-poller.ts";

const START = 1_700_000_000;
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const site: FacilityQueries = { ambient: "ambient", it: "it", cooling: "cooling" };

/** Starts a poller, with a way to wait for each poll. */
async function open(
  answer: (query: string, now: number) => FakeReply | undefined,
  queries: FacilityQueries,
  more: Partial<FacilityPollerOptions> = {},
) {
  const clock = new VirtualClock(instant(START * 1000));
  const server = new FakeServer((request) => answer(queryOf(request), clock.now() / 1000));
  const port = await server.listen();
  const prometheus = new PrometheusClient({ clock, timeout: milliseconds(5000), address: `http://127.0.0.1:${port}` });
  const reports: FacilityPollReport[] = [];
  const poller = new FacilityPoller({
    enabled: true,
    prometheus,
    clock,
    random: { next: () => 0.5 },
    interval: milliseconds(30_000),
    queries,
    places: () => ({ zones: [], racks: [] }),
    report: (report) => reports.push(report),
    ...more,
  });
  const abort = new AbortController();
  closers.push(
    async () => server.close(),
    async () => prometheus.close(),
    () => abort.abort(),
  );
  const running = poller.run(abort.signal);
  const figures = Object.keys(queries).length;
  /** Resolves when all values of poll number `count` (from 1) were reported and the poller sleeps. */
  const polled = async (count: number) => eventually(() => reports.length === count * figures && clock.waiting === 1);
  const queriesSent = () => server.received.splice(0).map(queryOf);
  return { clock, server, poller, reports, abort, running, polled, queriesSent };
}

const one = (value: string) => (_query: string, now: number) => vector(now, [{}, value]);

describe("FacilityPoller", () => {
  it("OPR-37 sends no query and reports no values while disabled", async () => {
    const { clock, poller, server, running } = await open(one("1"), site, { enabled: false });
    await running;
    await clock.advanceAsync(milliseconds(600_000));
    expect(server.connections).toBe(0);
    expect(poller.snapshot()).toEqual({ site: {}, zones: new Map(), racks: new Map() });
    expect(estimatedPue({}, poller.snapshot().site)).toBe(1);
  });

  it("OPR-38 polls at once and then every interval until aborted", async () => {
    const { clock, polled, queriesSent, running, abort } = await open(one("1"), site);
    await polled(1);
    expect(queriesSent()).toHaveLength(3);
    await clock.advanceAsync(milliseconds(29_999));
    expect(queriesSent()).toHaveLength(0);
    await clock.advanceAsync(milliseconds(1));
    await polled(2);
    expect(queriesSent()).toHaveLength(3);
    abort.abort();
    await running;
    expect(clock.waiting).toBe(0);
  });

  it("OPR-38 adds jitter to its polls, so that replicas do not poll together", async () => {
    const { clock, polled, queriesSent } = await open(one("1"), { it: "it" }, { random: { next: () => 0 } });
    await polled(1);
    queriesSent();
    await clock.advanceAsync(milliseconds(27_000));
    await polled(2);
    expect(queriesSent()).toHaveLength(1);
  });

  it("OPR-39 reads ambient temperature, IT power and cooling power", async () => {
    const values: Record<string, string> = { ambient: "24.5", it: "1000", cooling: "600" };
    const { poller, polled, queriesSent } = await open((query, now) => vector(now, [{}, values[query] ?? ""]), site);
    await polled(1);
    expect(poller.snapshot().site).toEqual({ ambient: 24.5, it: 1000, cooling: 600 });
    expect(estimatedPue({}, poller.snapshot().site)).toBe(1.6);
    expect(queriesSent().toSorted()).toEqual(["ambient", "cooling", "it"]);
  });

  it("X-79 accepts negative temperatures, assumes 20 °C for an unknown one and rejects negative power", async () => {
    const { clock, poller, polled, reports } = await open(one("-12.5"), site);
    await polled(1);
    expect(poller.snapshot().site).toEqual({ ambient: -12.5 });
    expect(ambientOf(undefined, poller.snapshot().site.ambient)).toBe(-12.5);
    clock.step(milliseconds(3_600_000));
    expect(poller.snapshot().site.ambient).toBe(-12.5);
    clock.advance(milliseconds(90_001));
    expect(ambientOf(undefined, poller.snapshot().site.ambient)).toBe(20);
    expect(reports.find(({ figure }) => figure === "it")?.dropped).toEqual(new Map([["negative", 1]]));
  });

  it("keeps the last value for three intervals of failed polls, then drops it", async () => {
    let reply: FakeReply | undefined;
    const { clock, poller, polled, reports } = await open((_query, now) => reply ?? vector(now, [{}, "1000"]), {
      it: "it",
    });
    await polled(1);
    reply = { status: 503, text: "down" };
    for (let poll = 2; poll <= 4; poll++) {
      await clock.advanceAsync(milliseconds(30_000));
      await polled(poll);
      expect(reports.at(-1)?.problem?.message).toContain("status 503");
      expect(poller.snapshot().site).toEqual({ it: 1000 });
    }
    clock.advance(milliseconds(1));
    expect(poller.snapshot().site).toEqual({});
    reply = undefined;
    await clock.advanceAsync(milliseconds(29_999));
    await polled(5);
    expect(poller.snapshot().site).toEqual({ it: 1000 });
  });

  it.each([
    ["nothing", (now: number) => vector(now)],
    ["NaN", (now: number) => vector(now, [{}, "NaN"])],
    ["an infinity", (now: number) => vector(now, [{}, "+Inf"])],
    ["an old sample", (now: number) => vector(now, [{}, "7", now - 301])],
  ])("treats %s as no reading", async (_name, broken) => {
    let good = true;
    const { clock, poller, polled } = await open((_query, now) => (good ? vector(now, [{}, "20"]) : broken(now)), {
      ambient: "ambient",
      it: "it",
    });
    await polled(1);
    good = false;
    await clock.advanceAsync(milliseconds(30_000));
    await polled(2);
    expect(poller.snapshot().site).toEqual({ ambient: 20, it: 20 });
    await clock.advanceAsync(milliseconds(60_001));
    expect(poller.snapshot().site).toEqual({});
  });

  it("reads the other values if one query fails or never returns", async () => {
    const { clock, server, poller, reports } = await open((query, now) => {
      if (query === "it") return undefined;
      return query === "cooling" ? { status: 400, text: "no" } : vector(now, [{}, "21"]);
    }, site);
    await eventually(() => server.received.length === 3 && reports.length === 2);
    expect(poller.snapshot().site).toEqual({ ambient: 21 });
    clock.advance(milliseconds(5000));
    await eventually(() => reports.length === 3);
    expect(reports.at(-1)).toMatchObject({ figure: "it", problem: { kind: "timeout" } });
  });

  it("X-64 X-09 queries all zones and all racks with one query each, their names escaped", async () => {
    const queries = {
      zoneAmbient: 't{zone="{zone}"}',
      zoneIt: 'sum(it{zone="{zone}"})',
      zoneCooling: 'sum(cool{zone="{zone}"})',
      rackPower: 'p{rack="{rack}"}',
    };
    const zones = ["north", 'so"uth', "none"];
    const part = (place: number, more = {}) => ({ joulie_part: String(place), ...more });
    const answers: Record<string, (now: number) => FakeReply> = {
      "t{": (now) =>
        vector(
          now,
          [part(0, { s: "1" }), "20"],
          [part(0, { s: "2" }), "99"],
          [part(0, { s: "3" }), "21"],
          [part(1), "-3"],
        ),
      "it{": (now) => vector(now, [part(0), "1000"], [part(1), "0"], [part(9), "5"], [{}, "5"]),
      "cool{": (now) => vector(now, [part(0), "500"], [part(1), "70"]),
      "p{": (now) => vector(now, [part(0, { feed: "a" }), "4000"], [part(0, { feed: "b" }), "4100"]),
    };
    const { poller, polled, queriesSent, reports } = await open(
      (query, now) =>
        Object.entries(answers).find(([start]) => query.replace("sum(", "").startsWith(start, 15))?.[1](now),
      queries,
      { places: () => ({ zones: [...zones, "north"], racks: ["r1", "r2"] }) },
    );
    await polled(1);
    const snapshot = poller.snapshot();
    expect(Object.fromEntries(snapshot.zones)).toEqual({
      north: { ambient: 21, it: 1000, cooling: 500 },
      'so"uth': { ambient: -3, it: 0, cooling: 70 },
    });
    expect(Object.fromEntries(snapshot.racks)).toEqual({ r1: 8100 });
    expect(estimatedPue(snapshot.zones.get("north"), snapshot.site)).toBe(1.5);
    expect(reports.find(({ figure }) => figure === "zoneIt")?.dropped).toEqual(new Map([["unmatched", 2]]));
    const sent = queriesSent();
    expect(sent).toHaveLength(4);
    expect(sent.find((query) => query.includes("t{") && !query.includes("sum"))).toBe(
      [
        'label_replace((t{zone="north"}\n), "joulie_part", "0", "", "")',
        String.raw`label_replace((t{zone="so\"uth"}` + '\n), "joulie_part", "1", "", "")',
        'label_replace((t{zone="none"}\n), "joulie_part", "2", "", "")',
      ].join(" or "),
    );
  });

  it("X-64 sends ten queries for a thousand racks and none without racks", async () => {
    let racks = Array.from({ length: 1000 }, (_, index) => `rack-${index}`);
    const { clock, poller, polled, queriesSent } = await open(
      (query, now) =>
        vector(
          now,
          ...Array.from(query.matchAll(/rack-(\d+)"[^]*?"joulie_part", "(\d+)"/g), ([, rack = "", part = ""]) => {
            return [{ joulie_part: part }, rack] as const;
          }),
        ),
      { rackPower: 'p{rack="{rack}"}' },
      { places: () => ({ zones: [], racks }) },
    );
    await polled(1);
    expect(queriesSent()).toHaveLength(10);
    const { racks: read } = poller.snapshot();
    expect(read.size).toBe(1000);
    expect([...read].every(([rack, power]) => rack === `rack-${power}`)).toBe(true);
    racks = [];
    await clock.advanceAsync(milliseconds(30_000));
    await polled(2);
    expect(queriesSent()).toHaveLength(0);
  });
});
