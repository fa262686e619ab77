import { afterEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { eventually, realWork, VirtualClock } from "../../clock/testing/index.ts";
import { seededRandom } from "../../random/index.ts";
import { FakeServer, type Handler } from "../testing/fake-server.ts";
import { HttpPower, type HttpPowerOptions } from "./http-power.ts";

const START = 1_700_000_000_000;
const TIMEOUT = 2000;
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(handler: Handler, more: Partial<HttpPowerOptions> = {}) {
  const clock = new VirtualClock(instant(START));
  const server = new FakeServer(handler);
  const port = await server.listen();
  const power = new HttpPower({
    clock,
    timeout: milliseconds(TIMEOUT),
    random: seededRandom(1),
    endpoint: `http://127.0.0.1:${port}/telemetry/{node}`,
    scope: "node",
    ...more,
  });
  closers.push(
    async () => server.close(),
    async () => power.close(),
  );
  const asked = () => server.received.splice(0).map(({ path }) => path.replace("/telemetry/", ""));
  return { clock, server, power, asked };
}

/** Advances the clock whenever the sockets are idle. */
async function finish<Value>(clock: VirtualClock, work: Promise<Value>, step = 50): Promise<Value> {
  const state = { over: false };
  const end = () => {
    state.over = true;
  };
  work.then(end, end);
  while (!state.over) {
    clock.advance(milliseconds(step));
    for (let turn = 0; turn < 4; turn++) await realWork();
  }
  return work;
}

const names = (kind: string, count: number) => Array.from({ length: count }, (_, index) => `${kind}-${index}`);
const live: Handler = ({ path }) => (path.includes("dead") ? undefined : { json: { packagePowerWatts: 100 } });

describe("HttpPower", () => {
  it("X-17 X-09 reads each node's total from its endpoint, with the name escaped", async () => {
    const { power, asked } = await open(({ path }) => ({
      json: {
        packagePowerWatts: path.length,
        cpu: { packagePowerWatts: 1 },
        ts: new Date(START - 1000).toISOString(),
      },
    }));
    const { readings, dropped } = await power.read(["a", "b.example.com", "../x"]);
    expect(Object.fromEntries(readings)).toEqual({
      a: { power: 12, at: START - 1000, source: "http" },
      "b.example.com": { power: 24, at: START - 1000, source: "http" },
      "../x": { power: 17, at: START - 1000, source: "http" },
    });
    expect(dropped.size).toBe(0);
    expect(asked().toSorted()).toEqual(["..%2Fx", "a", "b.example.com"]);
  });

  it("counts failed readings and never reports 0 W for them", async () => {
    const answers: Record<string, ReturnType<Handler>> = {
      gone: { status: 404, text: "" },
      page: { text: "<html>" },
      empty: { json: {} },
      below: { json: { packagePowerWatts: -3 } },
      old: { json: { packagePowerWatts: 5, ts: (START - 301_000) / 1000 } },
      moved: { status: 302, headers: { location: "http://elsewhere.example/" }, text: "" },
      fine: { json: { packagePowerWatts: 5 } },
    };
    const { power } = await open(({ path }) => answers[path.replace("/telemetry/", "")]);
    const { readings, dropped } = await power.read([...Object.keys(answers), ".."]);
    expect(Object.fromEntries(readings)).toEqual({ fine: { power: 5, at: START, source: "http" } });
    expect(Object.fromEntries(dropped)).toEqual({
      status: 1,
      garbled: 1,
      missing: 1,
      negative: 1,
      stale: 1,
      redirect: 1,
      bad_url: 1,
    });
  });

  it("does not let 500 unresponsive endpoints delay the others", async () => {
    const { clock, power, server } = await open(live);
    // The worst order: all unresponsive endpoints first.
    const reading = power.read([...names("dead", 500), ...names("live", 100)]);
    // 32 slots, each freed after 200 ms. Waiting for the 2 s timeouts instead would take 32 s.
    for (let asked = 32; asked < 500; asked += 32) {
      await eventually(() => server.received.length >= asked);
      clock.advance(milliseconds(200));
    }
    await eventually(() => server.received.length === 600);
    expect(clock.monotonic()).toBe(3000);
    const { readings, dropped } = await finish(clock, reading);
    expect(readings.size).toBe(100);
    expect(Object.fromEntries(dropped)).toEqual({ timeout: 500 });
    expect(clock.monotonic()).toBeLessThanOrEqual(3000 + TIMEOUT);
  });

  it("polls a failed endpoint with growing backoff, and after all others", async () => {
    // One request at a time, because requests over several connections arrive in any order.
    const { clock, power, asked } = await open(live, { poller: { parallel: 1 } });
    const nodes = [...names("dead", 10), ...names("live", 10)];
    await finish(clock, power.read(nodes));
    asked();

    const second = await power.read(nodes);
    expect(second.readings.size).toBe(10);
    expect(Object.fromEntries(second.dropped)).toEqual({ waiting: 10 });
    expect(asked().every((name) => name.startsWith("live"))).toBe(true);

    clock.advance(milliseconds(20_000));
    await finish(clock, power.read(nodes));
    const third = asked();
    expect(third.slice(0, 10).every((name) => name.startsWith("live"))).toBe(true);
    expect(third).toHaveLength(20);

    // The second failure waits longer than the first.
    clock.advance(milliseconds(20_000));
    await power.read(nodes);
    expect(asked()).toHaveLength(10);
  });

  it("resets the backoff of an endpoint that recovers or was removed meanwhile", async () => {
    let up = false;
    const { clock, power, asked } = await open(() => (up ? { json: { packagePowerWatts: 1 } } : { status: 500 }));
    await power.read(["a", "b"]);
    up = true;
    await power.read(["b"]);
    expect(asked().toSorted()).toEqual(["a", "b"]);
    expect((await power.read(["a", "b"])).readings.has("a")).toBe(true);
    clock.advance(milliseconds(20_000));
    expect((await power.read(["a", "b"])).readings.size).toBe(2);
    expect((await power.read(["a", "b"])).readings.size).toBe(2);
  });

  it("continues in the next poll where the time budget of the last one ended", async () => {
    const rounds = { parallel: 4, patience: milliseconds(100), maxOpen: 1000, budget: milliseconds(1000) };
    const { clock, power, asked } = await open(live, { poller: rounds });
    const nodes = [...names("dead", 100), ...names("live", 20)];
    const first = await finish(clock, power.read(nodes));
    expect(first.readings.size).toBe(0);
    const begun = asked().length;
    expect(begun).toBeLessThan(60);
    expect(first.dropped.get("deferred")).toBe(120 - begun);
    await finish(clock, power.read(nodes));
    expect(asked().slice(0, 4)).toContain(`dead-${begun}`);
    const third = await finish(clock, power.read(nodes));
    expect(third.readings.size).toBe(20);
  });

  it("polls every node even if each poll runs out of time", async () => {
    // Each response takes 100 ms, and a poll has time for ten.
    const rounds = { parallel: 1, budget: milliseconds(1000) };
    const { clock, power, asked } = await open(
      () => {
        clock.advance(milliseconds(100));
        return { json: { packagePowerWatts: 1 } };
      },
      { poller: rounds },
    );
    const nodes = names("live", 25);
    const seen: string[] = [];
    for (let round = 0; round < 5; round++) {
      const { readings, dropped } = await power.read(nodes);
      expect(readings.size).toBe(10);
      expect(dropped.get("deferred")).toBe(15);
      seen.push(...asked());
    }
    // Two complete passes over all nodes.
    expect(seen).toEqual([...nodes, ...nodes]);
  });

  it("limits the number of open requests", async () => {
    const rounds = { parallel: 10, patience: milliseconds(10), maxOpen: 25, budget: milliseconds(60_000) };
    const { clock, power, server } = await open(live, { poller: rounds });
    const reading = power.read(names("dead", 60));
    for (let step = 0; step < 20; step++) {
      clock.advance(milliseconds(10));
      for (let turn = 0; turn < 4; turn++) await realWork();
    }
    expect(server.received.length).toBeGreaterThan(10);
    expect(server.received.length).toBeLessThanOrEqual(25 + 10);
    const { dropped } = await finish(clock, reading);
    expect(Object.fromEntries(dropped)).toEqual({ timeout: 60 });
  });

  it("polls a duplicate node once and rejects with the caller's abort reason", async () => {
    const { power, asked, server } = await open(live);
    expect((await power.read(["a", "a"])).readings.size).toBe(1);
    expect(asked()).toEqual(["a"]);
    expect((await power.read([])).readings.size).toBe(0);
    const abort = new AbortController();
    const reason = new Error("stop");
    const reading = power.read(names("dead", 50), abort.signal);
    const caught = reading.catch((error: unknown) => error);
    await eventually(() => server.received.length === 32);
    abort.abort(reason);
    expect(await caught).toBe(reason);
    expect(server.received).toHaveLength(32);
  });
});
