import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../../platform/kube/index.ts";
import { OperatorTestHarness } from "../testing/test-harness.ts";

interface Published {
  readonly estimatedPUE?: number;
}

/** Answers every query with what `value` says for it. */
class FakePrometheus {
  readonly queries: string[] = [];
  /** Requests are taken and never answered. */
  silent = false;
  asked = 0;
  readonly #server: Server;
  values: (query: string) => readonly { labels: Record<string, string>; value: string }[] = () => [];
  /** Of answers to queries; their body says success whatever it is. */
  status = 200;
  /** Of GET requests, by path. */
  pages: Record<string, unknown> = {};

  constructor(now: () => number) {
    this.#server = createServer((request, response) => {
      const path = request.url ?? "";
      this.asked++;
      if (this.silent) return;
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        if (request.method === "GET") {
          const page = this.pages[path];
          response.writeHead(page === undefined ? 404 : 200).end(JSON.stringify(page ?? {}));
          return;
        }
        const query = new URLSearchParams(body).get("query") ?? "";
        this.queries.push(query);
        const result = this.values(query).map(({ labels, value }) => ({
          metric: labels,
          value: [now() / 1000, value],
        }));
        const answer = JSON.stringify({ status: "success", data: { resultType: "vector", result } });
        response.writeHead(this.status).end(answer);
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe("the operator's telemetry", () => {
  let harness: OperatorTestHarness;
  let prometheus: FakePrometheus;
  let address: string;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    prometheus = new FakePrometheus(() => harness.clock.now());
    address = await prometheus.listen();
  });
  afterEach(async () => {
    await harness.end();
    await prometheus.close();
  });

  const statusOf = async (name: string) => (await harness.findTwin(name))?.status;

  it("OPR-37 queries no Prometheus unless facility metrics are enabled", async () => {
    await harness.createNode("a");
    harness.start({ FACILITY_PROMETHEUS_ADDRESS: address });
    await harness.until(async () => (await statusOf("a"))?.estimatedPUE === 1);
    await harness.advance(120);
    expect(prometheus.queries).toEqual([]);
  });

  it("OPR-38 OPR-39 OPR-40 OPR-41 OPR-42 the facility poller feeds cooling stress and PUE", async () => {
    await harness.createNode("a");
    const figures: Record<string, string> = {
      datacenter_ambient_temperature_celsius: "40",
      datacenter_total_it_power_watts: "1000",
      datacenter_cooling_power_watts: "600",
    };
    harness.start({ FACILITY_PROMETHEUS_ADDRESS: address, ENABLE_FACILITY_METRICS: "true", RECONCILE_INTERVAL: "10s" });
    await harness.until(async () => (await statusOf("a"))?.estimatedPUE === 1);
    const cool = (await statusOf("a"))?.predictedCoolingStressScore ?? Number.NaN;
    prometheus.values = (query) => [{ labels: {}, value: figures[query] ?? "NaN" }];
    await harness.until(async () => (await statusOf("a"))?.estimatedPUE === 1.6);
    expect((await statusOf("a"))?.predictedCoolingStressScore).toBeCloseTo(cool + 10);
    const before = prometheus.queries.length;
    const since = harness.clock.now();
    await harness.until(() => prometheus.queries.length >= before + 6);
    expect(harness.clock.now() - since).toBeGreaterThan(50_000);
    expect(new Set(prometheus.queries)).toEqual(new Set(Object.keys(figures)));
  });

  it("TWN-18 X-88 publishes a stress of 31.3 for two EPYC 9654 and four H100 NVL known by their labels alone, at 60 % and 25 °C", async () => {
    await harness.createNode("g", {
      "joulie.io/hw.cpu-model": "AMD-EPYC-9654",
      "joulie.io/hw.cpu-sockets": "2",
      "joulie.io/hw.gpu-model": "NVIDIA-H100-NVL",
      "joulie.io/hw.gpu-count": "4",
    });
    prometheus.values = (query) => [{ labels: {}, value: query.includes("ambient") ? "25" : "NaN" }];
    harness.start({
      FACILITY_PROMETHEUS_ADDRESS: address,
      ENABLE_FACILITY_METRICS: "true",
      RECONCILE_INTERVAL: "10s",
      STATIC_HP_FRAC: "0",
    });
    await harness.until(async () => (await statusOf("g"))?.predictedCoolingStressScore === 31.3);
    expect(await statusOf("g")).toMatchObject({
      schedulableClass: "eco",
      effectiveCapState: { cpuPct: 60, gpuPct: 60 },
      predictedPowerHeadroomScore: 41.2,
      powerMeasurement: { cpuCappedPowerW: 480, gpuCappedPowerW: 960, nodeCappedPowerW: 1440 },
    });
  });

  it("a PUE that alternates between two hundredths causes no write", async () => {
    await harness.createNode("a");
    let polls = 0;
    const cooling = () => (polls++ % 2 === 0 ? "204" : "206");
    const figures: Record<string, () => string> = {
      datacenter_ambient_temperature_celsius: () => "20",
      datacenter_total_it_power_watts: () => "1000",
      datacenter_cooling_power_watts: cooling,
    };
    prometheus.values = (query) => [{ labels: {}, value: figures[query]?.() ?? "NaN" }];
    const operator = harness.start({
      FACILITY_PROMETHEUS_ADDRESS: address,
      ENABLE_FACILITY_METRICS: "true",
      RECONCILE_INTERVAL: "10s",
      FACILITY_POLL_INTERVAL: "5s",
      TWIN_HEARTBEAT: "1h",
    });
    await harness.until(async () => ((await statusOf("a"))?.estimatedPUE ?? 1) > 1);
    await harness.until(() => polls >= 3);
    operator.written();
    await harness.until(() => polls >= 12);
    expect(operator.written()).toEqual([]);
    prometheus.values = (query) => [{ labels: {}, value: query.includes("cooling") ? "230" : "1000" }];
    await harness.until(async () => (await statusOf("a"))?.estimatedPUE === 1.23);
  });

  it("OPR-38 polls the facility every FACILITY_POLL_INTERVAL, independent of passes", async () => {
    await harness.createNode("a");
    prometheus.values = () => [{ labels: {}, value: "20" }];
    harness.start({
      FACILITY_PROMETHEUS_ADDRESS: address,
      ENABLE_FACILITY_METRICS: "true",
      FACILITY_POLL_INTERVAL: "5s",
    });
    await harness.until(() => prometheus.queries.length >= 3);
    const since = harness.clock.now();
    await harness.until(() => prometheus.queries.length >= 12);
    // Three rounds: 15 s, and 90 s by default.
    expect(harness.clock.now() - since).toBeGreaterThan(10_000);
    expect(harness.clock.now() - since).toBeLessThan(60_000);
  });

  it("OPR-38 polls in the background: passes continue while Prometheus does not respond", async () => {
    await harness.createNode("a");
    prometheus.silent = true;
    harness.start({ FACILITY_PROMETHEUS_ADDRESS: address, ENABLE_FACILITY_METRICS: "true" });
    await harness.until(async () => (await statusOf("a"))?.schedulableClass === "performance");
    expect(prometheus.asked).toBeGreaterThan(0);
    expect(prometheus.queries).toEqual([]);
  });

  it("X-64 prometheus: one query for all nodes, matched by label; a bad sample is dropped and counted", async () => {
    for (const name of ["a", "b.example.com", "c"]) await harness.createNode(name);
    prometheus.values = () => [
      { labels: { node_name: "a" }, value: "210" },
      { labels: { instance: "b.example.com:9100" }, value: "220" },
      { labels: { node_name: "c" }, value: "-5" },
    ];
    const operator = harness.start({
      OPERATOR_NODE_POWER_SOURCE: "prometheus",
      OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: address,
      RECONCILE_INTERVAL: "10s",
    });
    await harness.until(async () => (await statusOf("b.example.com"))?.powerMeasurement?.measuredNodePowerW === 220);
    expect((await statusOf("a"))?.powerMeasurement).toMatchObject({ source: "kepler", measuredNodePowerW: 210 });
    // Unmeasured, not 0 W: a configured source is never replaced.
    expect((await statusOf("c"))?.powerMeasurement?.measuredNodePowerW).toBeUndefined();
    expect(
      await operator.series("power_samples_dropped_total", 'source="prometheus"', 'reason="negative"'),
    ).toHaveLength(1);
    const rounds = prometheus.queries.length;
    expect(new Set(prometheus.queries).size).toBe(1);
    expect(rounds).toBeLessThan(12);
  });

  it("X-157 auto reads Kepler once the address is set, and prefers the agent's reading", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    prometheus.values = () =>
      ["a", "b"].map((node_name) => ({ labels: { node_name, zone: "package", joulie_covers: "cpu" }, value: "210" }));
    harness.start({ OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: address, RECONCILE_INTERVAL: "10s" });
    const sourceOf = async (name: string) => (await statusOf(name))?.powerMeasurement?.source;
    await harness.until(async () => (await sourceOf("a")) === "kepler" && (await sourceOf("b")) === "kepler");
    expect((await statusOf("a"))?.powerMeasurement?.measuredNodePowerW).toBe(210);
    const updatedAt = new Date(harness.clock.now()).toISOString();
    const cpu = { backend: "rapl", result: "applied", observedPowerWatts: 190, updatedAt };
    const status = { controlStatus: { cpu } };
    await harness.agent.mergePatch(resources.nodeTwins, { name: "a" }, { status }, { subresource: "status" });
    await harness.until(async () => (await sourceOf("a")) === "agent");
    expect(await sourceOf("b")).toBe("kepler");
  });

  it("X-157 auto without the address asks no Prometheus", async () => {
    await harness.createNode("a");
    harness.start({ RECONCILE_INTERVAL: "10s" });
    await harness.until(async () => (await statusOf("a"))?.powerMeasurement?.source === "static");
    expect(prometheus.asked).toBe(0);
  });

  it("X-156 the operator estimates the GPUs of a node that Kepler reads without them, and says so", async () => {
    await harness.createNode("g", { "joulie.io/hw.gpu-model": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" });
    prometheus.values = () => [{ labels: { node_name: "g", zone: "package", joulie_covers: "cpu" }, value: "210" }];
    harness.start({
      OPERATOR_NODE_POWER_SOURCE: "prometheus",
      OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: address,
      RECONCILE_INTERVAL: "10s",
    });
    await harness.until(async () => (await statusOf("g"))?.powerMeasurement?.source === "kepler");
    const { measuredNodePowerW, estimatedGpuPowerW = 0 } = (await statusOf("g"))?.powerMeasurement ?? {};
    expect(estimatedGpuPowerW).toBeGreaterThan(8 * 40);
    expect(measuredNodePowerW).toBe(210 + estimatedGpuPowerW);
  });

  it("X-64 ignores responses with an HTTP error status, whatever the body contains", async () => {
    await harness.createNode("a");
    const watts: Record<string, string> = {
      datacenter_total_it_power_watts: "1000",
      datacenter_cooling_power_watts: "600",
    };
    prometheus.values = (query) => [{ labels: { node_name: "a" }, value: watts[query] ?? "210" }];
    prometheus.status = 503;
    const operator = harness.start({
      OPERATOR_NODE_POWER_SOURCE: "prometheus",
      OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: address,
      ENABLE_FACILITY_METRICS: "true",
      FACILITY_PROMETHEUS_ADDRESS: address,
      RECONCILE_INTERVAL: "10s",
    });
    const asked = (words: string) => prometheus.queries.filter((query) => query.includes(words)).length;
    await harness.until(async () => (await statusOf("a")) !== undefined && asked("kepler") > 2 && asked("cooling") > 2);
    expect((await statusOf("a"))?.powerMeasurement?.measuredNodePowerW).toBeUndefined();
    expect((await statusOf("a"))?.estimatedPUE).toBe(1);
    expect(operator.logs.filter(({ msg }) => msg.includes("telemetry")).length).toBeGreaterThan(0);
    prometheus.status = 200;
    await harness.until(async () => (await statusOf("a"))?.estimatedPUE === 1.6);
    await harness.until(async () => (await statusOf("a"))?.powerMeasurement?.measuredNodePowerW === 210);
  });

  it("X-64 the number of queries does not grow with the number of nodes", async () => {
    const nodes = Array.from({ length: 30 }, (_, index) => `node-${index}`);
    for (const [index, name] of nodes.entries())
      await harness.createNode(name, { "joulie.io/rack": `r${index}`, "joulie.io/cooling-zone": `z${index}` });
    prometheus.values = () => nodes.map((name) => ({ labels: { node_name: name }, value: "210" }));
    harness.start({
      OPERATOR_NODE_POWER_SOURCE: "prometheus",
      OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: address,
      ENABLE_FACILITY_METRICS: "true",
      FACILITY_PROMETHEUS_ADDRESS: address,
      FACILITY_RACK_POWER_METRIC_TEMPLATE: 'rack_watts{rack="{rack}"}',
      FACILITY_ZONE_AMBIENT_METRIC_TEMPLATE: 'zone_celsius{zone="{zone}"}',
    });
    const measured = async (name: string) => (await statusOf(name))?.powerMeasurement?.measuredNodePowerW;
    await harness.until(async () => (await measured("node-0")) === 210 && (await measured("node-29")) === 210);
    // One for power, three for the site, one for all racks and one for all zones, in each round.
    expect(new Set(prometheus.queries).size).toBeLessThanOrEqual(6);
    expect(prometheus.queries.length).toBeLessThan(20);
  });

  it.each([
    ["static", { OPERATOR_NODE_POWER_SOURCE: "static" }],
    ["utilization", { OPERATOR_NODE_POWER_SOURCE: "utilization" }],
    ["agent", { OPERATOR_NODE_POWER_SOURCE: "auto" }],
    ["http", { OPERATOR_NODE_POWER_SOURCE: "http" }],
    ["kepler", { OPERATOR_NODE_POWER_SOURCE: "prometheus" }],
    ["prometheus", { OPERATOR_NODE_POWER_SOURCE: "prometheus", OPERATOR_NODE_POWER_PROMETHEUS_QUERY: "site_watts" }],
  ])(
    "TWN-04 publishes %s as the source of what it measures that way, while all others would answer too",
    async (source, mode) => {
      const estimate: unknown = expect.any(Number);
      const direct = { agent: 101, http: 102, kepler: 103, prometheus: 104 };
      const expected: Record<string, unknown> = { ...direct, static: estimate, utilization: estimate };
      await harness.createNode("a");
      harness.usage = { a: "32" };
      prometheus.pages = { "/telemetry/a": { packagePowerWatts: 102 } };
      prometheus.values = (query) => [
        {
          labels: { node_name: "a" },
          value: query === "site_watts" ? "104" : query.includes("kepler") ? "103" : "NaN",
        },
      ];
      harness.start({
        OPERATOR_NODE_POWER_HTTP_ENDPOINT: `${address}/telemetry/{node}`,
        OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: address,
        RECONCILE_INTERVAL: "10s",
        ...mode,
      });
      await harness.until(async () => (await statusOf("a")) !== undefined);
      await harness.observed("a", 101);
      await harness.until(async () => (await statusOf("a"))?.powerMeasurement?.source === source);
      const { measuredNodePowerW } = (await statusOf("a"))?.powerMeasurement ?? {};
      expect(measuredNodePowerW).toEqual(expected[source]);
    },
  );

  it("X-17 http: each node's own endpoint, the node's total before its CPUs'", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    prometheus.pages = { "/telemetry/a": { packagePowerWatts: 300, cpu: { packagePowerWatts: 120 } } };
    const operator = harness.start({
      OPERATOR_NODE_POWER_SOURCE: "http",
      OPERATOR_NODE_POWER_HTTP_ENDPOINT: `${address}/telemetry/{node}`,
    });
    const since = harness.clock.now();
    await harness.until(async () => (await statusOf("a"))?.powerMeasurement?.source === "http");
    // The first reading is shown at once, and not a tick later.
    expect(harness.clock.now() - since).toBeLessThan(50_000);
    expect((await statusOf("a"))?.powerMeasurement?.measuredNodePowerW).toBe(300);
    expect((await statusOf("b"))?.powerMeasurement?.measuredNodePowerW).toBeUndefined();
    expect(await operator.series("power_samples_dropped_total", 'source="http"', 'reason="status"')).toHaveLength(1);
  });

  it("X-31 http: a node whose endpoint misses one poll keeps its reading", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    const page = { packagePowerWatts: 300 };
    prometheus.pages = { "/telemetry/a": page, "/telemetry/b": page };
    const operator = harness.start({
      OPERATOR_NODE_POWER_SOURCE: "http",
      OPERATOR_NODE_POWER_HTTP_ENDPOINT: `${address}/telemetry/{node}`,
      RECONCILE_INTERVAL: "2s",
    });
    const powerOf = async (name: string) => (await statusOf(name))?.powerMeasurement?.measuredNodePowerW;
    await harness.until(async () => (await powerOf("a")) === 300 && (await powerOf("b")) === 300);
    prometheus.pages = { "/telemetry/a": page };
    const since = harness.clock.now();
    await harness.until(() => harness.clock.now() - since > 10_000);
    expect(await operator.series("power_samples_dropped_total", 'source="http"', 'reason="waiting"')).toHaveLength(1);
    expect(await powerOf("b")).toBe(300);
  });

  it("the first pass waits for a slow facility query", async () => {
    await harness.createNode("a");
    prometheus.values = () => [{ labels: {}, value: "40" }];
    const operator = harness.start({ FACILITY_PROMETHEUS_ADDRESS: address, ENABLE_FACILITY_METRICS: "true" });
    await harness.until(async () => (await statusOf("a")) !== undefined);
    const statuses = operator.written().flatMap(({ body }) => (body["status"] as Published | undefined) ?? []);
    expect(new Set(statuses.map(({ estimatedPUE }) => estimatedPUE))).toEqual(new Set([2]));
  });
});
