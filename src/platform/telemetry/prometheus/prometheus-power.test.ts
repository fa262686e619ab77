import { afterEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { FakeServer, type Handler, queryOf, vector } from "../testing/fake-server.ts";
import { keplerQuery } from "./power-queries.ts";
import { PrometheusClient } from "./prometheus-client.ts";
import { PrometheusPower } from "./prometheus-power.ts";

const NOW = 1_700_000_000;
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(handler: Handler, query?: string) {
  const clock = new VirtualClock(instant(NOW * 1000));
  const server = new FakeServer(handler);
  const port = await server.listen();
  const prometheus = new PrometheusClient({ clock, timeout: milliseconds(5000), address: `http://127.0.0.1:${port}` });
  const power = new PrometheusPower({ prometheus, clock, query });
  closers.push(
    async () => server.close(),
    async () => power.close(),
  );
  return { server, power };
}

type Samples = Parameters<typeof vector> extends [number, ...infer Rest] ? Rest : never;
const figures = async (nodes: readonly string[], ...samples: Samples) => {
  const { power } = await open(() => vector(NOW, ...samples), "watts");
  const { readings, dropped } = await power.read(nodes);
  return {
    watts: Object.fromEntries([...readings].map(([node, reading]) => [node, reading.power])),
    dropped: Object.fromEntries(dropped),
  };
};

describe("PrometheusPower", () => {
  it("X-64 reads all requested nodes with one query", async () => {
    const nodes = Array.from({ length: 12_000 }, (_, index) => `node-${index}`);
    const { server, power } = await open(() =>
      vector(NOW, ...nodes.map((node, index) => [{ node_name: node, job: "kepler" }, String(index)] as const), [
        { node_name: "stranger" },
        "5",
      ]),
    );
    const { readings, dropped, problem } = await power.read(nodes);
    expect(readings.size).toBe(12_000);
    expect(readings.get("node-7")).toEqual({ power: 7, at: NOW * 1000, source: "kepler" });
    expect(readings.get("node-0")?.power).toBe(0);
    expect([...dropped]).toEqual([["unmatched", 1]]);
    expect(problem).toBeUndefined();
    expect(server.received.map(queryOf)).toEqual([keplerQuery]);
    await power.read([]);
    expect(server.received).toHaveLength(1);
  });

  it("names the source of a reading", async () => {
    for (const [query, source] of [
      ["sum by (instance) (rate(kepler_node_platform_joules_total[2m]))", "kepler"],
      ["sum by (instance) (my_kepler_copy)", "prometheus"],
    ] as const) {
      const { power } = await open(() => vector(NOW, [{ instance: "a" }, "1"]), query);
      expect((await power.read(["a"])).readings.get("a")?.source).toBe(source);
    }
  });

  it("drops invalid power, counts the reasons and never reports 0 W instead", async () => {
    const nodes = ["nan", "inf", "less", "old", "ahead", "good", "absent"];
    const read = await figures(
      nodes,
      [{ node: "nan" }, "NaN"],
      [{ node: "inf" }, "+Inf"],
      [{ node: "less" }, "-1"],
      [{ node: "old" }, "100", NOW - 301],
      [{ node: "ahead" }, "100", NOW + 301],
      [{ node: "good" }, "100", NOW - 300],
    );
    expect(read.watts).toEqual({ good: 100 });
    expect(read.dropped).toEqual({ nan: 1, infinite: 1, negative: 1, stale: 2, missing: 1 });
  });

  it("adds the parts of a node; the sum is as old as the oldest part", async () => {
    const { power } = await open(
      () =>
        vector(
          NOW,
          [{ node: "a", zone: "package" }, "200"],
          [{ node: "a", gpu: "0" }, "300", NOW - 20],
          [{ node: "a", gpu: "1" }, "400"],
        ),
      "x",
    );
    const { readings, dropped } = await power.read(["a"]);
    expect(readings.get("a")).toEqual({ power: 900, at: (NOW - 20) * 1000, source: "prometheus" });
    expect(dropped.size).toBe(0);
  });

  describe("samples that say what they cover", () => {
    const readingsOf = async (...samples: Samples) => {
      const { power } = await open(() => vector(NOW, ...samples), "x");
      const { readings, dropped } = await power.read(["a"]);
      return { reading: readings.get("a"), dropped: Object.fromEntries(dropped) };
    };
    const covers = (joulie_covers: string, more: Readonly<Record<string, string>> = {}) => ({
      node: "a",
      joulie_covers,
      ...more,
    });
    const from = { source: "prometheus", at: NOW * 1000 };

    it("X-156 CPUs without boards are a partial reading", async () => {
      expect((await readingsOf([covers("cpu"), "210"])).reading).toEqual({ ...from, power: 210, onlyCpus: true });
      const both = await readingsOf([covers("cpu"), "210"], [covers("gpu"), "6090", NOW - 30]);
      expect(both.reading).toEqual({ ...from, at: (NOW - 30) * 1000, power: 6300 });
    });

    it("X-156 boards without CPUs, or with an invalid sample, make no reading", async () => {
      expect((await readingsOf([covers("gpu"), "6090"])).reading).toBeUndefined();
      const broken = await readingsOf([covers("cpu"), "210"], [covers("gpu"), "NaN"]);
      expect(broken).toEqual({ reading: undefined, dropped: { nan: 1 } });
    });

    it("X-154 the whole server is told from packages and boards", async () => {
      const server = [covers("server", { psu: "1" }), "300"] as const;
      const other = [covers("server", { psu: "2" }), "320", NOW - 60] as const;
      expect((await readingsOf(server, other)).reading).toEqual({ ...from, at: (NOW - 60) * 1000, server: 620 });
      expect((await readingsOf([{ node: "a" }, "500"], server)).reading).toEqual({ ...from, power: 500, server: 300 });
      const partial = await readingsOf([covers("cpu"), "210"], server);
      expect(partial.reading).toEqual({ ...from, power: 210, onlyCpus: true, server: 300 });
    });

    it("X-156 packages that an old and a new release of Kepler read at the same time count once", async () => {
      const zone = [covers("cpu", { zone: "package" }), "200"] as const;
      expect(await readingsOf(zone, [covers("cpu"), "190"])).toEqual({
        reading: { ...from, power: 200, onlyCpus: true },
        dropped: { overlapping: 1 },
      });
      expect((await readingsOf([covers("cpu"), "190"])).reading?.power).toBe(190);
      // Boards have no zone, and a query of one's own may mix them with zones.
      expect((await readingsOf([{ node: "a", zone: "package" }, "200"], [{ node: "a" }, "50"])).reading?.power).toBe(
        250,
      );
    });

    it("X-156 a zone of the package counts, and psys only without one", async () => {
      const zones = (["package", "psys"] as const).map((zone) => [covers("cpu", { zone }), "100"] as const);
      expect((await readingsOf(...zones)).reading?.power).toBe(100);
      expect((await readingsOf([covers("cpu", { zone: "psys" }), "120"])).reading?.power).toBe(120);
    });
  });

  it("uses one of several duplicates: the newest, then the highest", async () => {
    const read = await figures(
      ["a", "b"],
      [{ node: "a", gpu: "0", replica: "0" }, "300"],
      [{ node: "a", gpu: "0", replica: "1" }, "310"],
      [{ node: "b", pod: "old" }, "500", NOW - 60],
      [{ node: "b", pod: "new" }, "100"],
    );
    expect(read).toEqual({ watts: { a: 310, b: 100 }, dropped: { duplicate: 2 } });
  });

  it("does not add overlapping zones", async () => {
    const read = await figures(
      ["a", "b", "c"],
      [{ node: "a", zone: "package" }, "200"],
      [{ node: "a", zone: "core" }, "150"],
      [{ node: "a", zone: "dram" }, "40"],
      [{ node: "a", zone: "psys" }, "300"],
      [{ node: "a", gpu: "0" }, "70"],
      [{ node: "b", rapl_zone: "package-0" }, "100"],
      [{ node: "b", rapl_zone: "package-1" }, "110"],
      [{ node: "b", rapl_zone: "core" }, "90"],
      [{ node: "c", zone: "psys" }, "120"],
      [{ node: "c", zone: "core" }, "80"],
    );
    expect(read).toEqual({ watts: { a: 270, b: 210, c: 120 }, dropped: { overlapping: 5 } });
  });

  it("reports no power for a node with a missing part", async () => {
    const read = await figures(
      ["a", "b"],
      [{ node: "a", gpu: "0" }, "300"],
      [{ node: "a", gpu: "1" }, "NaN"],
      // A stale duplicate of a valid part has no effect.
      [{ node: "b", gpu: "0", pod: "old" }, "NaN"],
      [{ node: "b", gpu: "0", pod: "new" }, "80"],
    );
    expect(read).toEqual({ watts: { b: 80 }, dropped: { nan: 2, incomplete: 1 } });
  });

  it("drops samples that match no single node", async () => {
    const read = await figures(["a.x", "a.y"], [{ instance: "a:1" }, "1"], [{ instance: "a.x:1" }, "2"], [{}, "3"]);
    expect(read).toEqual({ watts: { "a.x": 2 }, dropped: { ambiguous: 1, unmatched: 1, missing: 1 } });
  });

  it("rejects an infinite sum", async () => {
    const read = await figures(["a"], [{ node: "a", gpu: "0" }, "1e308"], [{ node: "a", gpu: "1" }, "1e308"]);
    expect(read.watts).toEqual({});
  });

  it("reports a failing server instead of rejecting", async () => {
    const { power } = await open(() => ({ status: 500, text: "down" }));
    const { readings, dropped, problem } = await power.read(["a", "b"]);
    expect(readings.size).toBe(0);
    expect([...dropped]).toEqual([["status", 2]]);
    expect(problem?.message).toContain("status 500");
    const reason = new Error("stop");
    await expect(power.read(["a"], AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
