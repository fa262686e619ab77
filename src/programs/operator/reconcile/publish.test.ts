import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { resources } from "../../../platform/kube/index.ts";
import { OperatorTestHarness, performancePod } from "../testing/test-harness.ts";

const TICK = 62;
const SOON = 10;
const epyc = { "joulie.io/hw.cpu-model": "AMD-EPYC-9654", "joulie.io/hw.cpu-sockets": "2" };
const withoutValue = (series: string) => series.replace(/ \S+$/, "");
const h100 = { "joulie.io/hw.gpu-model": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" };

describe("the operator's writes", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
  });
  afterEach(async () => harness.end());

  it("OPR-01 OPR-02 X-63 writes twins and labels only for managed nodes, and only Joulie's labels on a Node", async () => {
    await harness.createNode("a", { zone: "z1" });
    await harness.createNode("other", { "joulie.io/managed": "false" });
    const operator = harness.start();
    await harness.advance(SOON);
    expect(await harness.find(resources.nodeTwins, "other")).toBeUndefined();
    expect(await harness.labelsOf("other")).toEqual({ "joulie.io/managed": "false" });
    expect(await harness.labelsOf("a")).toMatchObject({ zone: "z1", "joulie.io/power-profile": "performance" });
    const written = operator.written();
    const toNodes = written.filter(({ path }) => path.startsWith("/api/v1/nodes"));
    expect(toNodes.map(({ path, body }) => [path, body])).toEqual([
      [
        "/api/v1/nodes/a",
        { metadata: { labels: { "joulie.io/power-profile": "performance", "joulie.io/draining": "false" } } },
      ],
    ]);
    expect(written.every(({ path }) => path.includes("/nodes/") || path.includes("/nodetwins/"))).toBe(true);
  });

  it("OPR-03 OPR-04 X-46 neither plans nor writes reserved and cordoned nodes without a target", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    await harness.createNode("reserved", { "joulie.io/reserved": "true" });
    await harness.createNode("cordoned", {}, { spec: { unschedulable: true } });
    harness.start();
    await harness.advance(SOON);
    for (const name of ["reserved", "cordoned"]) expect(await harness.find(resources.nodeTwins, name)).toBeUndefined();
    expect((await harness.shown("a")).spec).toBe("performance");
    expect((await harness.shown("b")).spec).toBe("eco");
  });

  it("X-46 keeps the target of a node that is reserved or cordoned later, and refreshes its twin", async () => {
    for (const name of ["a", "b", "c", "d"]) await harness.createNode(name);
    harness.start();
    await harness.advance(SOON);
    const before = await harness.twin("c");
    await harness.cordon("c");
    await harness.label("d", { "joulie.io/reserved": "true", "joulie.io/hw.cpu-cores": "512" });
    await harness.advance(4 * TICK);
    expect((await harness.twin("c")).spec).toEqual(before.spec);
    expect(await harness.shown("d")).toMatchObject({ spec: "eco", class: "eco", cap: 60 });
    const age = harness.clock.now() - Date.parse((await harness.twin("c")).status?.lastUpdated ?? "");
    expect(age).toBeLessThan(130_000);
  });

  it("OPR-05 OPR-06 OPR-07 OPR-08 OPR-09 OPR-11 OPR-12 keeps the densest node at performance, by labels and allocatable, then by NodeHardware", async () => {
    await harness.createNode("a");
    await harness.createNode("b", epyc);
    const gpus = { cpu: "64", "nvidia.com/gpu": "4" };
    await harness.createNode("c", {}, { status: { capacity: gpus, allocatable: gpus } });
    const operator = harness.start({ STATIC_HP_FRAC: "0.34" });
    await harness.advance(SOON);
    const density = async (name: string) => (await harness.twin(name)).status?.hardwareDensityScore ?? Number.NaN;
    expect(await density("b")).toBeGreaterThan(await density("a"));
    expect(await density("c")).toBeGreaterThan(await density("a"));
    expect((await harness.shown("b")).spec).toBe("performance");
    expect((await harness.shown("a")).spec).toBe("eco");
    expect(await operator.series("node_compute_density", 'node="c"', 'component="gpu"')).toHaveLength(1);

    await harness.discovered("a", {
      cpu: { rawModel: "AMD EPYC 9654 96-Core Processor", sockets: 2, totalCores: 192 },
      gpu: { present: true, rawModel: "NVIDIA H100 80GB HBM3", count: 8 },
    });
    await harness.advance(SOON);
    expect((await harness.shown("a")).spec).toBe("performance");
    expect((await harness.shown("b")).spec).toBe("eco");
    expect(await density("a")).toBeGreaterThan(await density("b"));
  });

  it("SLP-03 publishes class asleep for a node that is not on, and never writes status.power", async () => {
    const power = harness.clientOf("joulie-power");
    const say = async (state: string) =>
      power.apply(resources.nodeTwins, { name: "a" }, { status: { power: { state } } }, { subresource: "status" });
    await harness.createNode("a");
    const operator = harness.start();
    await harness.advance(SOON);
    for (const state of ["stopping", "off", "waking", "failed"]) {
      await say(state);
      await harness.advance(SOON);
      expect((await harness.twin("a")).status).toMatchObject({ schedulableClass: "asleep", power: { state } });
    }
    await say("on");
    await harness.advance(TICK);
    expect((await harness.twin("a")).status).toMatchObject({ schedulableClass: "performance", power: { state: "on" } });
    const statuses = operator.written().filter(({ path }) => path.endsWith("/status"));
    expect(statuses.length).toBeGreaterThan(2);
    expect(statuses.every(({ body }) => !("power" in (body["status"] as object)))).toBe(true);
  });

  it("OPR-30 OPR-32 writes caps as percentages only by default", async () => {
    await harness.createNode("g", { ...epyc, ...h100 });
    harness.start({ STATIC_HP_FRAC: "0", CPU_ECO_CAP_PCT_OF_MAX: "55", GPU_ECO_CAP_PCT_OF_MAX: "50" });
    await harness.advance(SOON);
    const { spec } = await harness.twin("g");
    expect(spec.cpu).toEqual({ packagePowerCapPctOfMax: 55 });
    expect(spec.gpu).toEqual({ powerCap: { scope: "perGpu", capPctOfMax: 50 } });
  });

  it("OPR-31 OPR-33 OPR-35 OPR-36 absolute caps: watts per package, and watts per GPU beside the percentage", async () => {
    await harness.createNode("g", { ...epyc, "example.com/board": "Own-Board", "joulie.io/hw.gpu-count": "2" });
    harness.start({
      STATIC_HP_FRAC: "0",
      CPU_WRITE_ABSOLUTE_CAPS: "true",
      ECO_CAP_WATTS: "130",
      GPU_WRITE_ABSOLUTE_CAPS: "true",
      GPU_PRODUCT_LABEL_KEYS: "example.com/board",
      GPU_MODEL_CAPS_JSON: '{"Own-Board":{"minCapWatts":100,"maxCapWatts":500}}',
    });
    await harness.advance(SOON);
    const { spec } = await harness.twin("g");
    expect(spec.cpu).toEqual({ packagePowerCapWatts: 130 });
    expect(spec.gpu?.powerCap).toEqual({ scope: "perGpu", capPctOfMax: 60, capWattsPerGpu: 300 });
  });

  it("OPR-34 writes percentages if the GPU has no absolute mapping", async () => {
    await harness.createNode("g", { "joulie.io/hw.gpu-model": "Some-New-Board", "joulie.io/hw.gpu-count": "2" });
    harness.start({ GPU_WRITE_ABSOLUTE_CAPS: "true" });
    await harness.advance(SOON);
    expect((await harness.twin("g")).spec.gpu?.powerCap).toEqual({ scope: "perGpu", capPctOfMax: 100 });
  });

  it("X-45 caps the CPUs of GPU nodes unless CPU_CAP_GPU_NODES=false, and the twin reflects it", async () => {
    await harness.createNode("g", { ...epyc, ...h100 });
    const first = harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(SOON);
    expect((await harness.twin("g")).spec.cpu).toEqual({ packagePowerCapPctOfMax: 60 });
    expect((await harness.twin("g")).status?.effectiveCapState).toEqual({ cpuPct: 60, gpuPct: 60 });
    await first.stop();
    harness.start({ STATIC_HP_FRAC: "0", CPU_CAP_GPU_NODES: "false" });
    await harness.advance(SOON);
    const { spec, status } = await harness.twin("g");
    expect(spec.cpu).toBeUndefined();
    expect(status?.effectiveCapState).toEqual({ cpuPct: 100, gpuPct: 60 });
  });

  it("OPR-13 rule_swap_v1 alternates which node is eco", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    harness.start({ POLICY_TYPE: "rule_swap_v1" });
    const seen = new Set<string>();
    for (let minute = 0; minute < 4; minute++) {
      await harness.advance(TICK);
      seen.add(`${(await harness.shown("a")).spec}/${(await harness.shown("b")).spec}`);
    }
    expect([...seen].toSorted()).toEqual(["eco/performance", "performance/eco"]);
  });

  it("OPR-43 TWN-28 writes a status for every managed node; without facility metrics the PUE is 1", async () => {
    for (const name of ["a", "b.rack-1.example.com"]) await harness.createNode(name);
    harness.start();
    await harness.advance(SOON);
    for (const name of ["a", "b.rack-1.example.com"]) {
      const { metadata, spec, status } = await harness.twin(name);
      expect(spec.nodeName).toBe(name);
      expect(metadata.ownerReferences).toMatchObject([{ kind: "Node", name }]);
      expect(status).toMatchObject({
        estimatedPUE: 1,
        predictedPowerHeadroomScore: expect.any(Number) as unknown,
        predictedCoolingStressScore: expect.any(Number) as unknown,
        predictedPsuStressScore: expect.any(Number) as unknown,
        powerMeasurement: { source: "static", measuredNodePowerW: expect.any(Number) as unknown },
        conditions: [{ type: "Published", status: "True" }],
      });
    }
  });

  it("X-55 writes only heartbeats while nothing changes", async () => {
    for (const name of ["a", "b", "c"]) await harness.createNode(name);
    const operator = harness.start({ TWIN_HEARTBEAT: "2m" });
    await harness.advance(2 * TICK);
    operator.written();
    await harness.advance(600);
    const written = operator.written();
    expect(written.every(({ path }) => path.endsWith("/status"))).toBe(true);
    // Ten minutes of two-minute heartbeats: five or six for each node.
    expect(written.length).toBeGreaterThanOrEqual(15);
    expect(written.length).toBeLessThanOrEqual(18);
    expect((await operator.series('writes_total{kind="heartbeat"}'))[0]).toMatch(/ \d+$/);
  });

  it("X-55 a failing node delays no other node, and is reported by metric, Event and condition", async () => {
    for (const name of ["a", "b", "c", "d"]) await harness.createNode(name);
    const heal = harness.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ method, path }) => method === "PATCH" && path.startsWith("/api/v1/nodes/b"),
    });
    const operator = harness.start();
    await harness.advance(SOON + TICK);
    for (const name of ["c", "d"]) expect(await harness.shown(name)).toMatchObject({ class: "eco", cap: 60 });
    expect((await operator.series("write_errors_total", 'kind="labels"'))[0]).toMatch(/ [1-9]\d*$/);
    expect((await harness.events()).filter(({ reason }) => reason === "WriteFailed")).toMatchObject([
      { regarding: { name: "b" }, type: "Warning" },
    ]);
    expect((await harness.twin("b")).status?.conditions).toMatchObject([{ status: "False", reason: "WriteFailed" }]);
    heal();
    await harness.advance(2 * TICK);
    expect((await harness.shown("b")).labels).toBe("performance false");
    expect((await harness.twin("b")).status?.conditions).toMatchObject([{ status: "True", reason: "Written" }]);
  });

  it("X-55 starts each pass with another node", async () => {
    const names = Array.from({ length: 10 }, (_, index) => `n${index}`);
    for (const name of names) await harness.createNode(name);
    const operator = harness.start({ TWIN_HEARTBEAT: "1h" });
    await harness.advance(SOON);
    const first = new Set<string | undefined>();
    for (let round = 1; round <= 4; round++) {
      harness.usage = Object.fromEntries(names.map((name) => [name, String(10 * round)]));
      operator.written();
      await harness.advance(TICK);
      const written = operator.written();
      expect(written.length).toBeGreaterThanOrEqual(names.length);
      first.add(written[0]?.path);
    }
    expect(first.size).toBeGreaterThan(2);
  });

  it("X-14 X-15 exports its metrics, and drops the series of removed nodes", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    harness.usage = { a: "much" };
    harness.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ method, path }) => method === "PATCH" && path.startsWith("/api/v1/nodes/a"),
    });
    const operator = harness.start();
    await harness.advance(SOON);
    expect(await operator.series("joulie_operator_node_state", 'node="b"')).toEqual([
      'joulie_operator_node_state{node="b",state="ActiveEco"} 1',
      'joulie_operator_node_state{node="b",state="ActivePerformance"} 0',
      'joulie_operator_node_state{node="b",state="DrainingPerformance"} 0',
    ]);
    expect(await operator.series("joulie_operator_node_profile_label", 'node="b"', "} 1")).toEqual([
      'joulie_operator_node_profile_label{node="b",profile="eco"} 1',
    ]);
    const seriesOf = async (name: string) => (await operator.series(`joulie_operator_${name}`)).map(withoutValue);
    expect(await seriesOf("write_errors_total")).toEqual(['joulie_operator_write_errors_total{kind="labels"}']);
    expect(await seriesOf("power_samples_dropped_total")).toEqual([
      'joulie_operator_power_samples_dropped_total{source="utilization",reason="garbled"}',
    ]);
    expect(await seriesOf("state_transitions_total")).toContain(
      'joulie_operator_state_transitions_total{node="b",from_state="ActivePerformance",to_state="ActiveEco",result="applied"}',
    );
    expect((await operator.series("node_compute_density", 'node="b"')).map(withoutValue)).toEqual([
      'joulie_operator_node_compute_density{node="b",component="cpu"}',
      'joulie_operator_node_compute_density{node="b",component="gpu"}',
    ]);
    await harness.user.delete(resources.nodes, { name: "b" });
    await harness.advance(SOON);
    expect(await operator.series('node="b"')).toEqual([]);
    expect((await operator.series('node="a"')).length).toBeGreaterThan(0);
  });

  it("exports no pod count while pods cannot be read, and reports an intruder once", async () => {
    await harness.createNode("a");
    const operator = harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(3 * SOON);
    await harness.createPod("intruder", "a", performancePod);
    await harness.advance(SOON);
    const intruders = async () => operator.series("performance_pods_on_eco");
    expect(await intruders()).toEqual(['joulie_operator_performance_pods_on_eco{node="a"} 1']);
    expect(await operator.series("pods_readable")).toEqual(["joulie_operator_pods_readable 1"]);
    const heal = harness.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ path }) => path.startsWith("/api/v1/pods"),
    });
    harness.api.faults.dropWatches();
    await harness.advance(900);
    expect(await intruders()).toEqual([]);
    expect(await operator.series("pods_readable")).toEqual(["joulie_operator_pods_readable 0"]);
    heal();
    await harness.advance(6 * TICK);
    expect(await intruders()).toEqual(['joulie_operator_performance_pods_on_eco{node="a"} 1']);
    const reported = (await harness.events()).filter(({ reason }) => reason === "PerformancePodOnEco");
    expect(reported).toHaveLength(1);
    expect(reported[0]).not.toHaveProperty("series");
  });

  it("X-41 removes labels, NodeTwin and NodeHardware of an unmanaged node, but never a user's NodePowerProfile", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name, { mine: "too" });
    await harness.discovered("b", { cpu: { totalCores: 8 } });
    await harness.pin("b", { profile: "eco" });
    const operator = harness.start();
    await harness.advance(SOON);
    await harness.label("b", { "joulie.io/managed": null });
    await harness.advance(SOON);
    expect(await harness.labelsOf("b")).toEqual({ mine: "too" });
    expect(await harness.find(resources.nodeTwins, "b")).toBeUndefined();
    expect(await harness.find(resources.nodeHardwares, "b")).toBeUndefined();
    expect(await harness.find(resources.nodePowerProfiles, "b")).toBeDefined();
    expect(await operator.series('node="b"')).toEqual([]);
    await harness.label("b", { "joulie.io/managed": "true" });
    await harness.advance(SOON);
    expect(await harness.shown("b")).toMatchObject({ spec: "eco", class: "eco" });
  });

  it("X-41 removes the objects of a deleted node", async () => {
    await harness.createNode("a");
    await harness.discovered("gone", { cpu: { totalCores: 8 } });
    await harness.user.create(resources.nodeTwins, {
      metadata: { name: "gone" },
      spec: { nodeName: "gone", profile: "eco" },
    });
    harness.start();
    await harness.advance(130);
    expect(await harness.find(resources.nodeTwins, "gone")).toBeDefined();
    await harness.advance(2 * TICK);
    expect(await harness.find(resources.nodeTwins, "gone")).toBeUndefined();
    expect(await harness.find(resources.nodeHardwares, "gone")).toBeUndefined();
  });

  it("X-41 keeps NodeHardware that was written before its Node appeared, and removes it when the Node is deleted", async () => {
    await harness.createNode("a");
    harness.start();
    await harness.advance(SOON);
    await harness.discovered("b", { cpu: { totalCores: 8 } });
    await harness.advance(SOON);
    expect(await harness.find(resources.nodeHardwares, "b")).toBeDefined();
    await harness.createNode("b");
    await harness.advance(4 * TICK);
    expect(await harness.find(resources.nodeHardwares, "b")).toBeDefined();
    await harness.user.delete(resources.nodes, { name: "b" });
    await harness.advance(SOON);
    expect(await harness.find(resources.nodeHardwares, "b")).toBeUndefined();
    expect(await harness.find(resources.nodeTwins, "b")).toBeUndefined();
  });

  it("X-06 applies a user's NodePowerProfile through the guard and never modifies it", async () => {
    for (const name of ["a", "b", "c", "d"]) await harness.createNode(name);
    await harness.createPod("worker", "a", performancePod);
    const pinned = { profile: "eco", cpu: { packagePowerCapPctOfMax: 42 } };
    await harness.pin("a", pinned);
    await harness.pin("d", { profile: "performance" });
    const before = await harness.find(resources.nodePowerProfiles, "a");
    harness.start({ WRITE_NODE_POWER_PROFILES: "true" });
    await harness.advance(SOON);
    expect(await harness.shown("a")).toMatchObject({ spec: "eco draining", class: "draining", cap: 100 });
    await harness.finishPod("worker");
    await harness.advance(SOON);
    const { spec } = await harness.twin("a");
    expect(spec).toMatchObject({ ...pinned, policy: { name: "pinned" } });
    expect((await harness.shown("d")).spec).toBe("performance");
    expect((await harness.shown("c")).spec).toBe("eco");
    expect(await harness.find(resources.nodePowerProfiles, "a")).toEqual(before);
  });

  it("X-07 WRITE_NODE_POWER_PROFILES=true mirrors targets under Joulie's label; a mirror pins nothing and is deleted when the variable is false", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    const first = harness.start({ WRITE_NODE_POWER_PROFILES: "true" });
    await harness.advance(SOON);
    const mirror = await harness.find(resources.nodePowerProfiles, "b");
    expect(mirror).toMatchObject({
      metadata: { labels: { "joulie.io/managed-by": "operator" } },
      spec: { nodeName: "b", profile: "eco", cpu: { packagePowerCapPctOfMax: 60 } },
    });
    await harness.label("b", { "joulie.io/hw.cpu-cores": "512" });
    await harness.advance(SOON);
    expect(await harness.shown("b")).toMatchObject({ spec: "performance", class: "performance" });
    expect(await harness.find(resources.nodePowerProfiles, "b")).toMatchObject({ spec: { profile: "performance" } });
    await first.stop();
    harness.start();
    await harness.advance(SOON);
    expect(await harness.find(resources.nodePowerProfiles, "b")).toBeUndefined();
  });

  it("keeps the agent's controlStatus in every write", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    harness.start();
    await harness.advance(SOON);
    await harness.observed("b", 123);
    await harness.label("b", { "joulie.io/hw.cpu-cores": "512" });
    await harness.advance(TICK);
    const { spec, status } = await harness.twin("b");
    expect(spec.profile).toBe("performance");
    expect(status?.controlStatus?.cpu).toMatchObject({ backend: "rapl", observedPowerWatts: 123 });
  });

  it("X-97 X-31 uses the agent's reading while it is fresh, else utilization, else static, and never falls to 0 W", async () => {
    await harness.createNode("a", epyc);
    harness.usage = {};
    harness.start();
    await harness.advance(SOON);
    const power = async () => (await harness.twin("a")).status?.powerMeasurement;
    expect((await power())?.source).toBe("static");
    const idle = (await power())?.measuredNodePowerW ?? 0;
    expect(idle).toBeGreaterThan(0);
    await harness.observed("a", 321);
    await harness.advance(TICK);
    expect(await power()).toMatchObject({ source: "agent", measuredNodePowerW: 321, powerTrendWPerMin: 0 });
    harness.usage = { a: "32" };
    await harness.advance(420);
    expect((await power())?.source).toBe("utilization");
    expect((await power())?.measuredNodePowerW).toBeGreaterThan(idle);
    harness.usage = undefined;
    await harness.advance(3 * TICK);
    expect((await power())?.source).toBe("utilization");
    await harness.advance(3 * TICK);
    expect(await power()).toMatchObject({ source: "static", measuredNodePowerW: idle });
  });

  it("X-57 one of two operators leads; the other takes over when it stops", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    const [first, second] = [harness.start(), harness.start()];
    await harness.advance(SOON);
    const wrote = [first, second].filter((operator) => operator.written().length > 0);
    expect(wrote).toHaveLength(1);
    const [leader, standby] = first === wrote[0] ? [first, second] : [second, first];
    expect((await standby.page("/readyz")).status).toBe(200);
    expect((await standby.page("/livez")).status).toBe(200);
    await leader.stop();
    await harness.label("b", { "joulie.io/hw.cpu-cores": "512" });
    await harness.advance(30);
    expect((await harness.shown("b")).spec).toBe("performance");
    expect(standby.written().length).toBeGreaterThan(0);
  });

  it("X-57 a leader that cannot renew its lease stops writing", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    const operator = harness.start();
    await harness.advance(SOON);
    const heal = harness.api.faults.add({ fault: { kind: "refused" }, when: ({ path }) => path.includes("/leases/") });
    await harness.advance(20);
    operator.written();
    await harness.label("b", { "joulie.io/hw.cpu-cores": "512" });
    await harness.advance(3 * TICK);
    expect(operator.written()).toEqual([]);
    expect((await operator.series("joulie_operator_leading"))[0]).toBe("joulie_operator_leading 0");
    heal();
    await harness.advance(TICK);
    expect((await harness.shown("b")).spec).toBe("performance");
  });

  it("X-55 an API outage is not reported on nodes, and afterwards only changes are written", async () => {
    for (const name of ["a", "b", "c", "d"]) await harness.createNode(name);
    const operator = harness.start({ TWIN_HEARTBEAT: "1h" });
    await harness.advance(TICK);
    const heal = harness.api.faults.add({
      fault: { kind: "status", code: 503 },
      when: ({ path }) => path.includes("/nodetwins/"),
    });
    await harness.label("d", { "joulie.io/hw.cpu-cores": "512" });
    await harness.advance(TICK);
    heal();
    await harness.advance(2 * TICK);
    expect((await harness.shown("d")).spec).toBe("performance");
    expect((await operator.series("write_errors_total", 'kind="spec"'))[0]).toMatch(/ [1-9]\d*$/);
    const conditions = operator.written().map(({ body }) => JSON.stringify(body));
    expect(conditions.filter((body) => body.includes("WriteFailed"))).toEqual([]);
  });

  it("X-57 a leader whose lease expired while the machine slept stops between two writes", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    const operator = harness.start();
    await harness.advance(SOON);
    operator.written();
    const isSpec = (path: string) => path.endsWith("/nodetwins/b") || path.includes("/nodetwins/b?");
    harness.api.faults.add({
      fault: { kind: "latency", length: milliseconds(100) },
      when: ({ method, path }) => method === "PATCH" && isSpec(path),
    });
    await harness.label("b", { "joulie.io/hw.cpu-cores": "512" });
    const written: string[] = [];
    await harness.until(() => {
      written.push(...operator.written().map(({ path }) => path));
      return written.some(isSpec);
    });
    harness.clock.step(milliseconds(3_600_000));
    for (let turn = 0; turn < 15; turn++) await harness.clock.advanceAsync(milliseconds(10));
    expect(operator.written()).toEqual([]);
  });

  it("reverts another writer's change of the target, whichever manager owns the field", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    harness.start();
    await harness.advance(SOON);
    const spec = { nodeName: "b", profile: "performance", cpu: { packagePowerCapPctOfMax: 90 } };
    await harness.user.apply(resources.nodeTwins, { name: "b" }, { spec }, { force: true });
    await harness.advance(SOON);
    expect(await harness.shown("b")).toEqual({ spec: "eco", class: "eco", labels: "eco false", cap: 60 });
  });

  it("X-12 warns once about an invalid workload class", async () => {
    await harness.createNode("a");
    const annotations = { "joulie.io/workload-class": "turbo" };
    for (const name of ["x", "y"]) await harness.createPod(name, "a", { annotations });
    const operator = harness.start();
    await harness.advance(TICK);
    expect(operator.logs.filter(({ level }) => level === "warn")).toMatchObject([{ class: "turbo" }]);
  });

  it("X-61 logs changes in few lines, and nothing without changes", async () => {
    for (let index = 0; index < 40; index++) await harness.createNode(`node-${index}`);
    const operator = harness.start();
    await harness.advance(TICK);
    expect(operator.logs.filter(({ level }) => level === "info").length).toBeLessThan(12);
    operator.logs.length = 0;
    await harness.advance(5 * TICK);
    expect(operator.logs).toEqual([]);
  });

  it("/debug/plan shows the reason for each node's profile", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    const operator = harness.start();
    await harness.advance(SOON);
    const { text } = await operator.page("/debug/plan");
    expect(JSON.parse(text)).toMatchObject({
      performanceNodesAskedFor: 1,
      podsReadable: true,
      nodes: [
        { name: "a", profile: "performance", reason: expect.stringMatching(/family|rank/) as unknown },
        { name: "b", profile: "eco", reason: "after the performance node", seen: { state: "ActiveEco" } },
      ],
    });
    expect(JSON.parse((await operator.page("/debug/plan?node=b")).text)).toMatchObject({ name: "b" });
    expect((await operator.page("/debug/plan?node=none")).status).toBe(404);
  });
});
