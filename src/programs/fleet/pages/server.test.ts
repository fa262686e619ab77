import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../../platform/clock/index.ts";
import { PrometheusClient, powerInPayload } from "../../../platform/telemetry/index.ts";
import { FleetTestHarness } from "../testing/fleet-test-harness.ts";

let harness: FleetTestHarness;
beforeAll(async () => {
  harness = await FleetTestHarness.begin({ NODES: "40" });
  await harness.createPod("busy", cpuNode(), { cpu: "64", annotations: { "sim.joulie.io/kind": "compute" } });
  await harness.until(async () => (await harness.pod("busy"))?.status?.phase === "Running");
});
afterAll(async () => harness.end());

const machines = () => [...harness.simulator.datacenter.machines()];
const cpuNode = (): string => machines().find(({ spec }) => spec.gpus === undefined)?.spec.name ?? "";
const gpuNode = (): string => machines().find(({ spec }) => spec.gpus?.vendor === "nvidia")?.spec.name ?? "";

const ask = async (path: string, body?: unknown) => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const answer = await fetch(
    `${harness.simulator.url}${path}`,
    body === undefined ? {} : { method: "POST", body: text },
  );
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};
const command = async (node: string, body: Record<string, unknown>) => ask(`/control/${node}`, { node, ...body });

describe("GET /telemetry/{node}", () => {
  it("returns node and package power in the format that Joulie's readers expect", async () => {
    for (const node of [cpuNode(), gpuNode()]) {
      const { status, body } = await ask(`/telemetry/${node}`);
      expect(status).toBe(200);
      const operation = harness.simulator.datacenter.machine(node)?.physics.operation;
      const at = harness.clock.now();
      expect(powerInPayload(body, "cpu")).toEqual({ power: operation?.cpuWatts, at });
      const all = (operation?.cpuWatts ?? 0) + (operation?.gpuWatts ?? 0);
      expect(powerInPayload(body, "node")).toEqual({ power: all, at });
    }
    const { body } = await ask(`/telemetry/${cpuNode()}`);
    expect(body).toMatchObject({ pods: 1, gpu: { present: false }, cpu: { throttlePct: 0, freqScale: 1 } });
    expect((body["cpu"] as { utilization: number }).utilization).toBeGreaterThan(0.2);
  });

  it("returns 404 for unknown nodes", async () => {
    for (const path of ["/telemetry/unknown", "/telemetry/__proto__", "/telemetry/%2e%2e"])
      expect((await ask(path)).status).toBe(404);
    expect((await ask("/telemetry/%")).status).toBe(400);
    const unknown = await command("unknown", { action: "dvfs.set_throttle_pct", throttlePct: 1 });
    expect(unknown).toMatchObject({ status: 404, body: { result: "error" } });
  });
});

describe("POST /control/{node}", () => {
  it("caps packages and boards, visible in telemetry and physics", async () => {
    const node = gpuNode();
    const { hardware } = harness.simulator.datacenter.machine(node)?.spec ?? {};
    const cpu = Math.round(0.9 * (hardware?.cpu.maxWattsPerSocket ?? 0));
    const gpu = Math.round(0.6 * (hardware?.gpu?.maxWatts ?? 0));
    expect(await command(node, { action: "rapl.set_power_cap_watts", capWatts: cpu })).toMatchObject({
      status: 200,
      body: { result: "applied", message: `${cpu} W a package`, state: { cpu: { capWatts: cpu } } },
    });
    expect(await command(node, { action: "gpu.set_power_cap_watts", capWattsPerGpu: gpu })).toMatchObject({
      body: { result: "applied", state: { gpu: { capWattsPerGpuApplied: gpu, capWattsPerGpuTarget: gpu } } },
    });
    expect(harness.simulator.datacenter.machine(node)?.physics.caps).toEqual({
      cpuWattsPerPackage: cpu,
      gpuWattsPerBoard: gpu,
    });
    await command(node, { action: "rapl.set_power_cap_watts", capWatts: cpu });
    expect(harness.simulator.datacenter.machine(node)?.capChanges).toBe(2);
  });

  it("clamps to the hardware range and reports it", async () => {
    const node = gpuNode();
    const { hardware } = harness.simulator.datacenter.machine(node)?.spec ?? {};
    const { minWatts, maxWatts } = hardware?.gpu ?? {};
    for (const [asked, given] of [
      [1, minWatts],
      [1e308, maxWatts],
    ]) {
      const { body } = await command(node, { action: "gpu.set_power_cap_watts", capWattsPerGpu: asked });
      expect(body).toMatchObject({
        result: "applied",
        message: expect.stringContaining("is out of its range"),
        state: { gpu: { capWattsPerGpuApplied: given } },
      });
    }
  });

  it("reports the actual power when a cap cannot be met", async () => {
    const node = gpuNode();
    const pod = { annotations: { "sim.joulie.io/kind": "compute" }, cpu: "112" };
    await harness.createPod("hungry", node, pod);
    await harness.until(() => harness.simulator.datacenter.machine(node)?.physics.jobCount === 1);
    const { body } = await command(node, { action: "rapl.set_power_cap_watts", capWatts: 1 });
    const machine = harness.simulator.datacenter.machine(node);
    expect(machine?.physics.operation.cpuSaturated).toBe(true);
    const drawn = Math.round(machine?.physics.operation.cpuWatts ?? 0);
    expect(body["message"]).toContain(`the cap cannot be met: at the slowest clock all packages draw ${drawn} W`);
  });

  it("X-123 carries out no command that is older than one of the same action", async () => {
    const node = gpuNode();
    const { hardware } = harness.simulator.datacenter.machine(node)?.spec ?? {};
    const { maxWattsPerSocket: most = 0 } = hardware?.cpu ?? {};
    const cap = async (capWatts: number, ts: string) =>
      command(node, { action: "rapl.set_power_cap_watts", capWatts, ts });
    const [early, late] = ["2030-01-01T00:00:00.000Z", "2030-01-01T00:00:01.000Z"];
    expect(await cap(most, late)).toMatchObject({ status: 200, body: { result: "applied", ordered: true } });
    expect(await cap(0.9 * most, early)).toMatchObject({
      status: 409,
      body: { result: "error", message: "a newer command was carried out already", newest: late },
    });
    expect(harness.simulator.datacenter.machine(node)?.physics.caps).toMatchObject({ cpuWattsPerPackage: most });
    // Another device has its own order.
    expect(await command(node, { action: "gpu.set_power_cap_watts", capWattsPerGpu: 1, ts: early })).toMatchObject({
      status: 200,
    });
    expect(await command(node, { action: "rapl.set_power_cap_watts", capWatts: most, ts: "tomorrow" })).toMatchObject({
      status: 400,
    });
  });

  it("returns blocked with status 200 for unsupported commands", async () => {
    expect(await command(cpuNode(), { action: "gpu.set_power_cap_watts", capWattsPerGpu: 300 })).toMatchObject({
      status: 200,
      body: { result: "blocked", message: "this node has no GPU" },
    });
  });

  it.each([
    { action: "rapl.set_power_cap_watts", capWatts: 0 },
    { action: "rapl.set_power_cap_watts", capWatts: -5 },
    { action: "rapl.set_power_cap_watts", capWatts: "200" },
    { action: "rapl.set_power_cap_watts" },
    { action: "dvfs.set_throttle_pct", throttlePct: 101 },
    { action: "gpu.set_power_cap_watts", capWattsPerGpu: null },
    { action: "reboot" },
    { action: "rapl.set_power_cap_watts", capWatts: 200, node: "another" },
    { action: "dvfs.set_throttle_pct", throttlePct: 50, node: 7 },
    "no json",
    "null",
  ])("rejects %j with a message and changes nothing", async (body) => {
    const node = cpuNode();
    const before = harness.simulator.datacenter.machine(node)?.physics.caps;
    const answer = await ask(`/control/${node}`, body);
    expect(answer).toMatchObject({ status: 400, body: { result: "error", message: expect.stringMatching(/command/) } });
    expect(harness.simulator.datacenter.machine(node)?.physics.caps).toEqual(before);
  });

  it("accepts only POST and limits the body size", async () => {
    expect((await ask(`/control/${cpuNode()}`)).status).toBe(404);
    expect((await ask(`/control/${cpuNode()}`, "x".repeat(2_000_000))).status).toBe(413);
    expect((await ask(`/telemetry/${cpuNode()}`, "{}")).status).toBe(404);
  });
});

describe("the query API", () => {
  const client = () =>
    new PrometheusClient({ address: harness.simulator.url, clock: systemClock, timeout: milliseconds(5000) });
  const query = async (expression: string) => {
    const prometheus = client();
    try {
      return await prometheus.query(expression);
    } finally {
      await prometheus.close();
    }
  };

  it("answers the queries of the facility poller and the power source", async () => {
    const { it: watts, cooling, inlet } = harness.simulator.datacenter.facility();
    const at = harness.clock.now();
    expect(await query("datacenter_total_it_power_watts")).toMatchObject([{ value: watts, at }]);
    expect(await query("datacenter_cooling_power_watts")).toMatchObject([{ value: cooling }]);
    expect(await query("datacenter_ambient_temperature_celsius")).toMatchObject([{ value: inlet }]);
  });

  it("rejects unsupported PromQL as Prometheus does", async () => {
    for (const expression of ["rate(x[2m])", "sum(x)", "x + 1", "{", "", "x{a=~'(a+)+'}", "(".repeat(50)]) {
      const { status, body } = await ask(`/api/v1/query?query=${encodeURIComponent(expression)}`);
      expect({ status, body }).toMatchObject({ status: 400, body: { status: "error", errorType: "bad_data" } });
      expect(body["error"]).not.toBe("");
    }
    await expect(query("sum(x)")).rejects.toThrow("bad_data");
    expect(await query("nothing_of_ours")).toEqual([]);
  });
});

describe("pages", () => {
  it("serve health on the address of the metrics", async () => {
    const { url, metricsUrl } = harness.simulator;
    for (const page of [`${metricsUrl}/livez`, `${metricsUrl}/readyz`]) expect((await fetch(page)).status).toBe(200);
    expect((await fetch(`${url}/nowhere`)).status).toBe(404);
  });

  it("serve power, energy and facility metrics", async () => {
    const text = await (await fetch(`${harness.simulator.metricsUrl}/metrics`)).text();
    const value = (series: string) => Number(new RegExp(`^${series} (.*)$`, "m").exec(text)?.[1]);
    expect(value("datacenter_total_it_power_watts")).toBe(harness.simulator.datacenter.totals.watts);
    expect(value(`joulie_simulator_node_power_watts{node="${cpuNode()}"}`)).toBeGreaterThan(0);
    expect(value('datacenter_rack_power_watts{rack="rack-1"}')).toBeGreaterThan(0);
    expect(value("joulie_simulator_energy_joules_total")).toBeGreaterThan(0);
    expect(value("joulie_simulator_nodes_registered")).toBe(40);
  });
});
