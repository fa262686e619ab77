import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { performancePod, Trial } from "./trial.ts";

const TICK = 62;
const SOON = 10;
const epyc = { "joulie.io/hw.cpu-model": "AMD-EPYC-9654", "joulie.io/hw.cpu-sockets": "2" };
const withoutValue = (series: string) => series.replace(/ \S+$/, "");
const h100 = { "joulie.io/hw.gpu-model": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" };

describe("what the operator publishes", () => {
  let trial: Trial;
  beforeEach(async () => {
    trial = await Trial.begin();
  });
  afterEach(async () => trial.end());

  it("OPR-01 OPR-02 X-63 only managed nodes get a twin and labels; of a Node only our labels are written", async () => {
    await trial.createNode("a", { zone: "z1" });
    await trial.createNode("other", { "joulie.io/managed": "false" });
    const operator = trial.start();
    await trial.pass(SOON);
    expect(await trial.find(resources.nodeTwins, "other")).toBeUndefined();
    expect(await trial.labelsOf("other")).toEqual({ "joulie.io/managed": "false" });
    expect(await trial.labelsOf("a")).toMatchObject({ zone: "z1", "joulie.io/power-profile": "performance" });
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

  it("OPR-03 OPR-04 X-46 reserved and cordoned nodes count for nothing and get nothing before they had a target", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    await trial.createNode("reserved", { "joulie.io/reserved": "true" });
    await trial.createNode("cordoned", {}, { spec: { unschedulable: true } });
    trial.start();
    await trial.pass(SOON);
    for (const name of ["reserved", "cordoned"]) expect(await trial.find(resources.nodeTwins, name)).toBeUndefined();
    expect((await trial.shown("a")).spec).toBe("performance");
    expect((await trial.shown("b")).spec).toBe("eco");
  });

  it("X-46 a node that is reserved or cordoned later keeps its target, and its twin stays fresh", async () => {
    for (const name of ["a", "b", "c", "d"]) await trial.createNode(name);
    trial.start();
    await trial.pass(SOON);
    const before = await trial.twin("c");
    await trial.cordon("c");
    await trial.label("d", { "joulie.io/reserved": "true", "joulie.io/hw.cpu-cores": "512" });
    await trial.pass(4 * TICK);
    expect((await trial.twin("c")).spec).toEqual(before.spec);
    expect(await trial.shown("d")).toMatchObject({ spec: "eco", class: "eco", cap: 60 });
    const age = trial.clock.now() - Date.parse((await trial.twin("c")).status?.lastUpdated ?? "");
    expect(age).toBeLessThan(130_000);
  });

  it("OPR-05 OPR-06 OPR-07 OPR-08 OPR-09 OPR-11 OPR-12 the densest node performs: labels and allocatable first, then what the agent found", async () => {
    await trial.createNode("a");
    await trial.createNode("b", epyc);
    const gpus = { cpu: "64", "nvidia.com/gpu": "4" };
    await trial.createNode("c", {}, { status: { capacity: gpus, allocatable: gpus } });
    const operator = trial.start({ STATIC_HP_FRAC: "0.34" });
    await trial.pass(SOON);
    const density = async (name: string) => (await trial.twin(name)).status?.hardwareDensityScore ?? Number.NaN;
    expect(await density("b")).toBeGreaterThan(await density("a"));
    expect(await density("c")).toBeGreaterThan(await density("a"));
    expect((await trial.shown("b")).spec).toBe("performance");
    expect((await trial.shown("a")).spec).toBe("eco");
    expect(await operator.series("node_compute_density", 'node="c"', 'component="gpu"')).toHaveLength(1);

    await trial.discovered("a", {
      cpu: { rawModel: "AMD EPYC 9654 96-Core Processor", sockets: 2, totalCores: 192 },
      gpu: { present: true, rawModel: "NVIDIA H100 80GB HBM3", count: 8 },
    });
    await trial.pass(SOON);
    expect((await trial.shown("a")).spec).toBe("performance");
    expect((await trial.shown("b")).spec).toBe("eco");
    expect(await density("a")).toBeGreaterThan(await density("b"));
  });

  it("OPR-30 OPR-32 by default caps are percentages alone", async () => {
    await trial.createNode("g", { ...epyc, ...h100 });
    trial.start({ STATIC_HP_FRAC: "0", CPU_ECO_CAP_PCT_OF_MAX: "55", GPU_ECO_CAP_PCT_OF_MAX: "50" });
    await trial.pass(SOON);
    const { spec } = await trial.twin("g");
    expect(spec.cpu).toEqual({ packagePowerCapPctOfMax: 55 });
    expect(spec.gpu).toEqual({ powerCap: { scope: "perGpu", capPctOfMax: 50 } });
  });

  it("OPR-31 OPR-33 OPR-35 OPR-36 absolute caps: watts per package, and watts per GPU beside the percentage", async () => {
    await trial.createNode("g", { ...epyc, "example.com/board": "Own-Board", "joulie.io/hw.gpu-count": "2" });
    trial.start({
      STATIC_HP_FRAC: "0",
      CPU_WRITE_ABSOLUTE_CAPS: "true",
      ECO_CAP_WATTS: "130",
      GPU_WRITE_ABSOLUTE_CAPS: "true",
      GPU_PRODUCT_LABEL_KEYS: "example.com/board",
      GPU_MODEL_CAPS_JSON: '{"Own-Board":{"minCapWatts":100,"maxCapWatts":500}}',
    });
    await trial.pass(SOON);
    const { spec } = await trial.twin("g");
    expect(spec.cpu).toEqual({ packagePowerCapWatts: 130 });
    expect(spec.gpu?.powerCap).toEqual({ scope: "perGpu", capPctOfMax: 60, capWattsPerGpu: 300 });
  });

  it("OPR-34 absolute GPU caps without a mapping stay percentages", async () => {
    await trial.createNode("g", { "joulie.io/hw.gpu-model": "Some-New-Board", "joulie.io/hw.gpu-count": "2" });
    trial.start({ GPU_WRITE_ABSOLUTE_CAPS: "true" });
    await trial.pass(SOON);
    expect((await trial.twin("g")).spec.gpu?.powerCap).toEqual({ scope: "perGpu", capPctOfMax: 100 });
  });

  it("X-45 GPU nodes get CPU caps, unless CPU_CAP_GPU_NODES=false, which the twin knows", async () => {
    await trial.createNode("g", { ...epyc, ...h100 });
    const first = trial.start({ STATIC_HP_FRAC: "0" });
    await trial.pass(SOON);
    expect((await trial.twin("g")).status?.effectiveCapState).toEqual({ cpuPct: 60, gpuPct: 60 });
    await first.stop();
    trial.start({ STATIC_HP_FRAC: "0", CPU_CAP_GPU_NODES: "false" });
    await trial.pass(SOON);
    const { spec, status } = await trial.twin("g");
    expect(spec.cpu).toBeUndefined();
    expect(status?.effectiveCapState).toEqual({ cpuPct: 100, gpuPct: 60 });
  });

  it("OPR-13 rule_swap_v1 alternates which node is eco", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    trial.start({ POLICY_TYPE: "rule_swap_v1" });
    const seen = new Set<string>();
    for (let minute = 0; minute < 4; minute++) {
      await trial.pass(TICK);
      seen.add(`${(await trial.shown("a")).spec}/${(await trial.shown("b")).spec}`);
    }
    expect([...seen].toSorted()).toEqual(["eco/performance", "performance/eco"]);
  });

  it("OPR-43 TWN-28 every managed node has a status each tick; without facility metrics its PUE is 1", async () => {
    for (const name of ["a", "b.rack-1.example.com"]) await trial.createNode(name);
    trial.start();
    await trial.pass(SOON);
    for (const name of ["a", "b.rack-1.example.com"]) {
      const { metadata, spec, status } = await trial.twin(name);
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

  it("X-55 nothing is written while nothing changes, but for a refresh within each TWIN_HEARTBEAT", async () => {
    for (const name of ["a", "b", "c"]) await trial.createNode(name);
    const operator = trial.start({ TWIN_HEARTBEAT: "2m" });
    await trial.pass(2 * TICK);
    operator.written();
    await trial.pass(600);
    const written = operator.written();
    expect(written.every(({ path }) => path.endsWith("/status"))).toBe(true);
    // Five minutes of two-minute heartbeats, each a little early: five to eight for each node.
    expect(written.length).toBeGreaterThanOrEqual(15);
    expect(written.length).toBeLessThanOrEqual(24);
    expect((await operator.series('writes_total{kind="heartbeat"}'))[0]).toMatch(/ \d+$/);
  });

  it("X-55 a node that cannot be written keeps nobody else waiting, and shows in a metric, an event and its condition", async () => {
    for (const name of ["a", "b", "c", "d"]) await trial.createNode(name);
    const heal = trial.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ method, path }) => method === "PATCH" && path.startsWith("/api/v1/nodes/b"),
    });
    const operator = trial.start();
    await trial.pass(SOON + TICK);
    for (const name of ["c", "d"]) expect(await trial.shown(name)).toMatchObject({ class: "eco", cap: 60 });
    expect((await operator.series("write_errors_total", 'kind="labels"'))[0]).toMatch(/ [1-9]\d*$/);
    expect((await trial.events()).filter(({ reason }) => reason === "WriteFailed")).toMatchObject([
      { regarding: { name: "b" }, type: "Warning" },
    ]);
    expect((await trial.twin("b")).status?.conditions).toMatchObject([{ status: "False", reason: "WriteFailed" }]);
    heal();
    await trial.pass(2 * TICK);
    expect((await trial.shown("b")).labels).toBe("performance false");
    expect((await trial.twin("b")).status?.conditions).toMatchObject([{ status: "True", reason: "Written" }]);
  });

  it("X-55 begins with another node in each pass, so that none is always the last", async () => {
    const names = Array.from({ length: 10 }, (_, index) => `n${index}`);
    for (const name of names) await trial.createNode(name);
    const operator = trial.start({ TWIN_HEARTBEAT: "1h" });
    await trial.pass(SOON);
    const first = new Set<string | undefined>();
    for (let round = 1; round <= 4; round++) {
      trial.usage = Object.fromEntries(names.map((name) => [name, String(10 * round)]));
      operator.written();
      await trial.pass(TICK);
      const written = operator.written();
      expect(written.length).toBeGreaterThanOrEqual(names.length);
      first.add(written[0]?.path);
    }
    expect(first.size).toBeGreaterThan(2);
  });

  it("X-14 X-15 its metrics exist, and a node that leaves takes its series with it", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    trial.usage = { a: "much" };
    trial.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ method, path }) => method === "PATCH" && path.startsWith("/api/v1/nodes/a"),
    });
    const operator = trial.start();
    await trial.pass(SOON);
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
    await trial.hand.delete(resources.nodes, { name: "b" });
    await trial.pass(SOON);
    expect(await operator.series('node="b"')).toEqual([]);
    expect((await operator.series('node="a"')).length).toBeGreaterThan(0);
  });

  it("while pods cannot be read their number is unknown and not 0, and says so; an intruder is told of once", async () => {
    await trial.createNode("a");
    const operator = trial.start({ STATIC_HP_FRAC: "0" });
    await trial.pass(3 * SOON);
    await trial.createPod("intruder", "a", performancePod);
    await trial.pass(SOON);
    const intruders = async () => operator.series("performance_pods_on_eco");
    expect(await intruders()).toEqual(['joulie_operator_performance_pods_on_eco{node="a"} 1']);
    expect(await operator.series("pods_readable")).toEqual(["joulie_operator_pods_readable 1"]);
    const heal = trial.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ path }) => path.startsWith("/api/v1/pods"),
    });
    trial.api.faults.dropWatches();
    await trial.pass(900);
    expect(await intruders()).toEqual([]);
    expect(await operator.series("pods_readable")).toEqual(["joulie_operator_pods_readable 0"]);
    heal();
    await trial.pass(6 * TICK);
    expect(await intruders()).toEqual(['joulie_operator_performance_pods_on_eco{node="a"} 1']);
    const told = (await trial.events()).filter(({ reason }) => reason === "PerformancePodOnEco");
    expect(told).toHaveLength(1);
    expect(told[0]).not.toHaveProperty("series");
  });

  it("X-41 a node that leaves management loses its labels, NodeTwin and NodeHardware, but never a person's NodePowerProfile", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name, { mine: "too" });
    await trial.discovered("b", { cpu: { totalCores: 8 } });
    await trial.pin("b", { profile: "eco" });
    const operator = trial.start();
    await trial.pass(SOON);
    await trial.label("b", { "joulie.io/managed": null });
    await trial.pass(SOON);
    expect(await trial.labelsOf("b")).toEqual({ mine: "too" });
    expect(await trial.find(resources.nodeTwins, "b")).toBeUndefined();
    expect(await trial.find(resources.nodeHardwares, "b")).toBeUndefined();
    expect(await trial.find(resources.nodePowerProfiles, "b")).toBeDefined();
    expect(await operator.series('node="b"')).toEqual([]);
    await trial.label("b", { "joulie.io/managed": "true" });
    await trial.pass(SOON);
    expect(await trial.shown("b")).toMatchObject({ spec: "eco", class: "eco" });
  });

  it("X-41 what is left of a node that is gone goes too", async () => {
    await trial.createNode("a");
    await trial.discovered("gone", { cpu: { totalCores: 8 } });
    await trial.hand.create(resources.nodeTwins, {
      metadata: { name: "gone" },
      spec: { nodeName: "gone", profile: "eco" },
    });
    trial.start();
    await trial.pass(130);
    expect(await trial.find(resources.nodeTwins, "gone")).toBeDefined();
    await trial.pass(2 * TICK);
    expect(await trial.find(resources.nodeTwins, "gone")).toBeUndefined();
    expect(await trial.find(resources.nodeHardwares, "gone")).toBeUndefined();
  });

  it("X-41 what an agent found before its Node was seen stays; once a Node was seen to go it goes at once", async () => {
    await trial.createNode("a");
    trial.start();
    await trial.pass(SOON);
    await trial.discovered("b", { cpu: { totalCores: 8 } });
    await trial.pass(SOON);
    expect(await trial.find(resources.nodeHardwares, "b")).toBeDefined();
    await trial.createNode("b");
    await trial.pass(4 * TICK);
    expect(await trial.find(resources.nodeHardwares, "b")).toBeDefined();
    await trial.hand.delete(resources.nodes, { name: "b" });
    await trial.pass(SOON);
    expect(await trial.find(resources.nodeHardwares, "b")).toBeUndefined();
    expect(await trial.find(resources.nodeTwins, "b")).toBeUndefined();
  });

  it("X-06 a person's NodePowerProfile pins its node through the guard, and is never altered", async () => {
    for (const name of ["a", "b", "c", "d"]) await trial.createNode(name);
    await trial.createPod("worker", "a", performancePod);
    const pinned = { profile: "eco", cpu: { packagePowerCapPctOfMax: 42 } };
    await trial.pin("a", pinned);
    await trial.pin("d", { profile: "performance" });
    const before = await trial.find(resources.nodePowerProfiles, "a");
    trial.start({ WRITE_NODE_POWER_PROFILES: "true" });
    await trial.pass(SOON);
    expect(await trial.shown("a")).toMatchObject({ spec: "eco draining", class: "draining", cap: 100 });
    await trial.finishPod("worker");
    await trial.pass(SOON);
    const { spec } = await trial.twin("a");
    expect(spec).toMatchObject({ ...pinned, policy: { name: "pinned" } });
    expect((await trial.shown("d")).spec).toBe("performance");
    expect((await trial.shown("c")).spec).toBe("eco");
    expect(await trial.find(resources.nodePowerProfiles, "a")).toEqual(before);
  });

  it("X-07 WRITE_NODE_POWER_PROFILES=true mirrors targets under our label; a mirror pins nothing, and goes when it is not wanted", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    const first = trial.start({ WRITE_NODE_POWER_PROFILES: "true" });
    await trial.pass(SOON);
    const mirror = await trial.find(resources.nodePowerProfiles, "b");
    expect(mirror).toMatchObject({
      metadata: { labels: { "joulie.io/managed-by": "operator" } },
      spec: { nodeName: "b", profile: "eco", cpu: { packagePowerCapPctOfMax: 60 } },
    });
    await trial.label("b", { "joulie.io/hw.cpu-cores": "512" });
    await trial.pass(SOON);
    expect(await trial.shown("b")).toMatchObject({ spec: "performance", class: "performance" });
    expect(await trial.find(resources.nodePowerProfiles, "b")).toMatchObject({ spec: { profile: "performance" } });
    await first.stop();
    trial.start();
    await trial.pass(SOON);
    expect(await trial.find(resources.nodePowerProfiles, "b")).toBeUndefined();
  });

  it("what the agent reports survives every write of the operator", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    trial.start();
    await trial.pass(SOON);
    await trial.observed("b", 123);
    await trial.label("b", { "joulie.io/hw.cpu-cores": "512" });
    await trial.pass(TICK);
    const { spec, status } = await trial.twin("b");
    expect(spec.profile).toBe("performance");
    expect(status?.controlStatus?.cpu).toMatchObject({ backend: "rapl", observedPowerWatts: 123 });
  });

  it("X-97 X-31 power by default: the agent's own reading while it is fresh, else utilization, else static; none of it is a jump to 0 W", async () => {
    await trial.createNode("a", epyc);
    trial.usage = {};
    trial.start();
    await trial.pass(SOON);
    const power = async () => (await trial.twin("a")).status?.powerMeasurement;
    expect((await power())?.source).toBe("static");
    const idle = (await power())?.measuredNodePowerW ?? 0;
    expect(idle).toBeGreaterThan(0);
    await trial.observed("a", 321);
    await trial.pass(TICK);
    expect(await power()).toMatchObject({ source: "agent", measuredNodePowerW: 321, powerTrendWPerMin: 0 });
    trial.usage = { a: "32" };
    await trial.pass(420);
    expect((await power())?.source).toBe("utilization");
    expect((await power())?.measuredNodePowerW).toBeGreaterThan(idle);
    trial.usage = undefined;
    await trial.pass(3 * TICK);
    expect((await power())?.source).toBe("utilization");
    await trial.pass(3 * TICK);
    expect(await power()).toMatchObject({ source: "static", measuredNodePowerW: idle });
  });

  it("X-57 of two operators one decides; the other takes over when it ends", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    const [first, second] = [trial.start(), trial.start()];
    await trial.pass(SOON);
    const wrote = [first, second].filter((operator) => operator.written().length > 0);
    expect(wrote).toHaveLength(1);
    const [leader, standby] = first === wrote[0] ? [first, second] : [second, first];
    expect((await standby.page("/readyz")).status).toBe(200);
    expect((await standby.page("/livez")).status).toBe(200);
    await leader.stop();
    await trial.label("b", { "joulie.io/hw.cpu-cores": "512" });
    await trial.pass(30);
    expect((await trial.shown("b")).spec).toBe("performance");
    expect(standby.written().length).toBeGreaterThan(0);
  });

  it("X-57 a leader that cannot renew its lease writes nothing more", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    const operator = trial.start();
    await trial.pass(SOON);
    const heal = trial.api.faults.add({ fault: { kind: "refused" }, when: ({ path }) => path.includes("/leases/") });
    await trial.pass(20);
    operator.written();
    await trial.label("b", { "joulie.io/hw.cpu-cores": "512" });
    await trial.pass(3 * TICK);
    expect(operator.written()).toEqual([]);
    expect((await operator.series("joulie_operator_leading"))[0]).toBe("joulie_operator_leading 0");
    heal();
    await trial.pass(TICK);
    expect((await trial.shown("b")).spec).toBe("performance");
  });

  it("X-55 an outage of the API is no fault of its nodes: afterwards only what changed is written", async () => {
    for (const name of ["a", "b", "c", "d"]) await trial.createNode(name);
    const operator = trial.start({ TWIN_HEARTBEAT: "1h" });
    await trial.pass(TICK);
    const heal = trial.api.faults.add({
      fault: { kind: "status", code: 503 },
      when: ({ path }) => path.includes("/nodetwins/"),
    });
    await trial.label("d", { "joulie.io/hw.cpu-cores": "512" });
    await trial.pass(TICK);
    heal();
    await trial.pass(2 * TICK);
    expect((await trial.shown("d")).spec).toBe("performance");
    expect((await operator.series("write_errors_total", 'kind="spec"'))[0]).toMatch(/ [1-9]\d*$/);
    const conditions = operator.written().map(({ body }) => JSON.stringify(body));
    expect(conditions.filter((body) => body.includes("WriteFailed"))).toEqual([]);
  });

  it("X-57 a leader whose lease ran out while the machine slept stops between two writes", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    const operator = trial.start();
    await trial.pass(SOON);
    operator.written();
    const isSpec = (path: string) => path.endsWith("/nodetwins/b") || path.includes("/nodetwins/b?");
    trial.api.faults.add({
      fault: { kind: "latency", length: milliseconds(100) },
      when: ({ method, path }) => method === "PATCH" && isSpec(path),
    });
    await trial.label("b", { "joulie.io/hw.cpu-cores": "512" });
    const written: string[] = [];
    await trial.until(() => {
      written.push(...operator.written().map(({ path }) => path));
      return written.some(isSpec);
    });
    trial.clock.step(milliseconds(3_600_000));
    for (let turn = 0; turn < 15; turn++) await trial.clock.advanceAsync(milliseconds(10));
    expect(operator.written()).toEqual([]);
  });

  it("a rival's hand on the target is undone, whoever owns the field", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    trial.start();
    await trial.pass(SOON);
    const spec = { nodeName: "b", profile: "performance", cpu: { packagePowerCapPctOfMax: 90 } };
    await trial.hand.apply(resources.nodeTwins, { name: "b" }, { spec }, { force: true });
    await trial.pass(SOON);
    expect(await trial.shown("b")).toEqual({ spec: "eco", class: "eco", labels: "eco false", cap: 60 });
  });

  it("X-12 a workload class nobody knows is warned of once", async () => {
    await trial.createNode("a");
    const annotations = { "joulie.io/workload-class": "turbo" };
    for (const name of ["x", "y"]) await trial.createPod(name, "a", { annotations });
    const operator = trial.start();
    await trial.pass(TICK);
    expect(operator.logs.filter(({ level }) => level === "warn")).toMatchObject([{ class: "turbo" }]);
  });

  it("X-61 says what changed in few lines, and nothing when nothing did", async () => {
    for (let index = 0; index < 40; index++) await trial.createNode(`node-${index}`);
    const operator = trial.start();
    await trial.pass(TICK);
    expect(operator.logs.filter(({ level }) => level === "info").length).toBeLessThan(12);
    operator.logs.length = 0;
    await trial.pass(5 * TICK);
    expect(operator.logs).toEqual([]);
  });

  it("/debug/plan says why each node got its profile", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    const operator = trial.start();
    await trial.pass(SOON);
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
