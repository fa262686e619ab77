import { afterEach, describe, expect, it } from "vitest";
import { resources } from "../../../platform/kube/index.ts";
import { FleetTestHarness, type LivePod } from "../testing/fleet-test-harness.ts";

let harness: FleetTestHarness;
afterEach(async () => harness.end());

const until = async (name: string, phase: string) =>
  harness.until(async () => (await harness.pod(name))?.status?.phase === phase);
const work = (seconds: number, kind = "compute") => ({
  annotations: { "sim.joulie.io/work-seconds": String(seconds), "sim.joulie.io/kind": kind },
});
const at = (pod: LivePod | undefined, path: string): number => Date.parse(String(pod?.status?.[path]));

describe("nodes", () => {
  it("register with labels, capacity and a heartbeat, and are deleted on exit", async () => {
    harness = await FleetTestHarness.begin({ NODES: "40" });
    const nodes = await harness.nodes();
    expect(nodes).toHaveLength(40);
    const products = new Set(nodes.flatMap(({ metadata: { labels } }) => labels?.["joulie.io/hw.gpu-model"] ?? []));
    expect(products).toEqual(new Set(["NVIDIA-H100-80GB-HBM3", "NVIDIA-L40S", "AMD_Instinct_MI300X_OAM"]));
    const h100 = nodes.find(({ metadata }) => metadata.labels?.["nvidia.com/gpu.product"] === "NVIDIA-H100-80GB-HBM3");
    expect(h100?.status?.allocatable).toMatchObject({ "nvidia.com/gpu": "8", cpu: "112" });
    expect(h100?.metadata.labels).toMatchObject({
      "joulie.io/managed": "true",
      "joulie.io/simulated": "true",
      "joulie.io/hw.gpu-count": "8",
      "joulie.io/rack": expect.stringMatching(/^rack-/),
      "joulie.io/cooling-zone": expect.stringMatching(/^zone-/),
    });
    const lease = async () => harness.hand.get(resources.leases, { name: "sim-000", namespace: "kube-node-lease" });
    const first = await lease();
    await harness.pass(120);
    expect(await lease()).not.toEqual(first);
    await harness.end();
    expect(await harness.nodes()).toEqual([]);
  });

  it("remain in the cluster on request, and the next run takes them over", async () => {
    harness = await FleetTestHarness.begin({ KEEP_OBJECTS: "true", TAINT_NODES: "false" });
    await harness.end();
    const left = await harness.nodes();
    expect(left).toHaveLength(20);
    await harness.start({});
    const nodes = await harness.nodes();
    expect(nodes.map(({ metadata }) => metadata.uid)).toEqual(left.map(({ metadata }) => metadata.uid));
    expect(nodes[0]?.spec?.taints).toHaveLength(1);
  });

  it("register although the API server rejects and drops calls", async () => {
    harness = new FleetTestHarness();
    const isWrite = ({ method }: { readonly method: string }) => method === "POST";
    harness.api.faults.add({ when: isWrite, fault: { kind: "status", code: 503 }, times: 30 });
    harness.api.faults.add({ when: isWrite, fault: { kind: "torn", afterBytes: 5 }, times: 30 });
    await harness.start({});
    expect(await harness.nodes()).toHaveLength(20);
    const { items } = await harness.hand.listAll(resources.leases, { namespace: "kube-node-lease" });
    expect(items).toHaveLength(20);
  });

  it("register again after a user deletes them", async () => {
    harness = await FleetTestHarness.begin();
    const uid = async () => (await harness.nodes()).find(({ metadata }) => metadata.name === "sim-004")?.metadata.uid;
    const before = await uid();
    await harness.hand.delete(resources.nodes, { name: "sim-004" });
    expect(await uid()).toBeUndefined();
    await harness.pass(60);
    expect(await uid()).toBeDefined();
    expect(await uid()).not.toBe(before);
    await harness.end();
    expect(await harness.nodes()).toEqual([]);
  });

  it("of another owner are never modified", async () => {
    harness = new FleetTestHarness();
    await harness.hand.create(resources.nodes, { metadata: { name: "sim-007" } });
    await harness.start({});
    await expect(harness.end()).rejects.toThrow("the Node sim-007 exists and is not simulated");
    expect((await harness.nodes()).map(({ metadata }) => metadata.name)).toEqual(["sim-007"]);
    harness = new FleetTestHarness();
  });
});

describe("pods", () => {
  it("run for the duration of their work and succeed", async () => {
    harness = await FleetTestHarness.begin();
    await harness.createPod("job", "sim-000", work(100));
    await until("job", "Running");
    const running = await harness.pod("job");
    expect(running?.status).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: "Ready", status: "True" })]),
      containerStatuses: [expect.objectContaining({ name: "main", ready: true })],
    });
    const started = at(running, "startTime");
    await harness.pass(90);
    expect((await harness.pod("job"))?.status?.phase).toBe("Running");
    await harness.pass(15);
    const done = await harness.pod("job");
    expect(done?.status?.phase).toBe("Succeeded");
    const after = new Date(started + 100_000).toISOString().replace(".000", "");
    expect(done?.status?.["containerStatuses"]).toMatchObject([{ state: { terminated: { finishedAt: after } } }]);
    expect(harness.simulator.datacenter.totals.pods).toBe(0);
  });

  it("start after a delay without drawing power, or never if deleted before", async () => {
    harness = await FleetTestHarness.begin({ POD_START: "10s" });
    const jobs = () => harness.simulator.datacenter.machine("sim-000")?.physics.jobCount;
    await harness.createPod("job", "sim-000", work(100));
    await harness.createPod("dropped", "sim-000", work(100));
    await harness.pass(5);
    await harness.hand.delete(resources.pods, { name: "dropped", namespace: "default" });
    await harness.pass(3);
    expect(jobs()).toBe(0);
    expect((await harness.pod("job"))?.status?.phase).toBe("Pending");
    expect(await harness.pod("dropped")).toBeUndefined();
    await harness.pass(4);
    expect(jobs()).toBe(1);
    expect((await harness.pod("job"))?.status?.phase).toBe("Running");
    await harness.pass(96);
    expect((await harness.pod("job"))?.status?.phase).toBe("Running");
    await harness.pass(5);
    expect((await harness.pod("job"))?.status?.phase).toBe("Succeeded");
  });

  it("run longer under a cap, in proportion to their clock dependence", async () => {
    harness = await FleetTestHarness.begin();
    for (const kind of ["compute", "analytics"])
      await harness.createPod(kind, "sim-000", { ...work(100, kind), cpu: "40" });
    await until("analytics", "Running");
    const control = await fetch(`${harness.simulator.url}/control/sim-000`, {
      method: "POST",
      body: JSON.stringify({ node: "sim-000", action: "dvfs.set_throttle_pct", throttlePct: 80 }),
    });
    expect(await control.json()).toMatchObject({ result: "applied" });
    await harness.pass(105);
    expect((await harness.pod("compute"))?.status?.phase).toBe("Running");
    expect((await harness.pod("analytics"))?.status?.phase).toBe("Running");
    await harness.pass(60);
    expect((await harness.pod("compute"))?.status?.phase).toBe("Running");
    expect((await harness.pod("analytics"))?.status?.phase).toBe("Succeeded");
  });

  it("without a duration run until they are deleted, and use their grace period", async () => {
    harness = await FleetTestHarness.begin();
    const slow = { "sim.joulie.io/stop-seconds": "20" };
    await harness.createPod("service", "sim-001", { annotations: slow });
    await harness.createPod("restarted", "sim-001", { ...work(10), spec: { restartPolicy: "Always" } });
    await until("service", "Running");
    await harness.pass(3600);
    expect(harness.simulator.datacenter.machine("sim-001")?.physics.jobCount).toBe(2);
    await harness.hand.delete(resources.pods, { name: "service", namespace: "default" });
    await harness.hand.delete(resources.pods, { name: "restarted", namespace: "default" });
    await harness.pass(5);
    // The first takes the default second, the other twenty of its thirty seconds.
    expect(await harness.pod("restarted")).toBeUndefined();
    expect(harness.simulator.datacenter.machine("sim-001")?.physics.jobCount).toBe(1);
    await harness.pass(10);
    expect(await harness.pod("service")).toBeDefined();
    await harness.pass(6);
    expect(await harness.pod("service")).toBeUndefined();
    expect(harness.simulator.datacenter.machine("sim-001")?.physics.jobCount).toBe(0);
  });

  it("whose status cannot be written do not block others, and are written later", async () => {
    harness = await FleetTestHarness.begin();
    await harness.createPod("unlucky", "sim-002", work(1000));
    harness.api.faults.add({
      when: ({ path }) => path.includes("/pods/unlucky/status"),
      fault: { kind: "status", code: 500 },
      times: 30,
    });
    await harness.createPod("lucky", "sim-002", work(1000));
    await until("lucky", "Running");
    expect(harness.simulator.datacenter.machine("sim-002")?.physics.jobCount).toBe(2);
    await until("unlucky", "Running");
  });

  it("that reuse a name are treated as different pods", async () => {
    harness = await FleetTestHarness.begin();
    await harness.createPod("twice", "sim-003", work(50));
    await until("twice", "Running");
    await harness.pass(40);
    await harness.hand.delete(resources.pods, { name: "twice", namespace: "default" });
    await harness.until(async () => (await harness.pod("twice")) === undefined);
    await harness.createPod("twice", "sim-003", work(50));
    await until("twice", "Running");
    await harness.pass(45);
    expect((await harness.pod("twice"))?.status?.phase).toBe("Running");
    await harness.pass(10);
    expect((await harness.pod("twice"))?.status?.phase).toBe("Succeeded");
  });

  it("on nodes of another owner are ignored", async () => {
    harness = await FleetTestHarness.begin();
    await harness.hand.create(resources.nodes, { metadata: { name: "real" } });
    await harness.createPod("theirs", "real", work(1));
    await harness.pass(30);
    expect((await harness.pod("theirs"))?.status?.phase).toBe("Pending");
  });
});
