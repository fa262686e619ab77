import { afterEach, describe, expect, it } from "vitest";
import { type ApiRequest, type KubeObject, resources } from "../../../platform/kube/index.ts";
import { FleetTestHarness } from "../testing/fleet-test-harness.ts";

let harness: FleetTestHarness;
afterEach(async () => {
  harness.api.faults.clear();
  await harness.end();
});

interface NodeLease extends KubeObject {
  readonly spec: { readonly renewTime: string; readonly leaseDurationSeconds: number };
}

const LEASES = "kube-node-lease";
const lease = async (name: string) => harness.hand.get<NodeLease>(resources.leases, { name, namespace: LEASES });
/** Seconds of real time since a node's last heartbeat. */
const age = async (name: string) => (harness.ioClock.now() - Date.parse((await lease(name)).spec.renewTime)) / 1000;
const conditions = async (name: string) =>
  (await harness.nodes()).find(({ metadata }) => metadata.name === name)?.status?.["conditions"] as {
    readonly type: string;
    readonly status: string;
  }[];
const isReady = async (name: string) => (await conditions(name)).find(({ type }) => type === "Ready")?.status;
/** Marks a node NotReady, as the node controller does after missed heartbeats. */
const giveUp = async (name: string) => {
  const lost = (await conditions(name)).map((one) => (one.type === "Ready" ? { ...one, status: "Unknown" } : one));
  await harness.hand.mergePatch(
    resources.nodes,
    { name },
    { status: { conditions: lost } },
    {
      subresource: "status",
    },
  );
};
const names = (name: string, method: string) => (request: ApiRequest) =>
  request.method === method && `${request.path} ${request.body ?? ""}`.includes(name);

describe("heartbeats", () => {
  it("use real time, several within the node controller's grace period", async () => {
    harness = await FleetTestHarness.begin();
    await harness.pass(120);
    for (const { metadata } of await harness.nodes()) expect(await age(metadata.name)).toBeLessThan(15);
    expect((await lease("sim-000")).spec.leaseDurationSeconds).toBe(40);
  });

  it("start with the first node, even if others take long", async () => {
    harness = new FleetTestHarness();
    harness.api.faults.add({ when: names("sim-007", "POST"), fault: { kind: "status", code: 500 } });
    await harness.serve({});
    await harness.pass(120);
    expect(await harness.nodes()).toHaveLength(19);
    expect(await age("sim-001")).toBeLessThan(15);
    harness.api.faults.clear();
    await harness.until(async () => (await harness.nodes()).length === 20);
  });

  it("make a node Ready again after the controller marked it NotReady", async () => {
    harness = await FleetTestHarness.begin();
    const since = await conditions("sim-002");
    await harness.pass(15);
    await giveUp("sim-002");
    await harness.pass(75);
    expect(await isReady("sim-002")).toBe("True");
    const transition = (of: readonly object[]) =>
      of.map((one) => (one as Record<string, string>)["lastTransitionTime"]);
    expect(transition(await conditions("sim-002"))).toEqual(transition(since));
  });

  it("are repeated at once after a failure, together with the Ready condition", async () => {
    harness = await FleetTestHarness.begin();
    await harness.pass(15);
    await giveUp("sim-002");
    harness.api.faults.add({
      when: (request) => request.path.includes("/leases/") && names("sim-002", "PATCH")(request),
      fault: { kind: "status", code: 500 },
      times: 1,
    });
    await harness.pass(14);
    expect(await isReady("sim-002")).toBe("True");
    expect(await age("sim-002")).toBeLessThan(15);
  });
});

describe("a Node of another owner", () => {
  it("that exists at the start keeps its pods unchanged", async () => {
    harness = new FleetTestHarness();
    await harness.hand.create(resources.nodes, { metadata: { name: "sim-007" } });
    await harness.createPod("theirs", "sim-007");
    await harness.start({});
    await harness.pass(30);
    await expect(harness.end()).rejects.toThrow("the Node sim-007 exists and is not simulated");
    expect((await harness.pod("theirs"))?.status?.phase).toBe("Pending");
    harness = new FleetTestHarness();
  });

  it("that appears later receives no heartbeats, and the fleet exits", async () => {
    harness = await FleetTestHarness.begin();
    await harness.hand.delete(resources.nodes, { name: "sim-004" });
    await harness.until(async () =>
      lease("sim-004").then(
        () => false,
        () => true,
      ),
    );
    const made = await harness.hand.create(resources.nodes, { metadata: { name: "sim-004" } });
    const renewTime = "2026-01-01T00:00:00.000000Z";
    const theirs = { metadata: { name: "sim-004" }, spec: { holderIdentity: "sim-004", renewTime } };
    await harness.hand.create(resources.leases, theirs, { namespace: LEASES });
    let ended = false;
    void harness.running.catch(() => (ended = true));
    await harness.until(() => ended);
    await expect(harness.end()).rejects.toThrow("the Node sim-004 exists");
    expect((await harness.nodes()).map(({ metadata }) => metadata.uid)).toEqual([made.metadata.uid]);
    expect((await lease("sim-004")).spec.renewTime).toBe(renewTime);
    harness = new FleetTestHarness();
  });
});

describe("nodes", () => {
  it("are counted while they exist", async () => {
    harness = await FleetTestHarness.begin();
    harness.api.faults.add({ when: names("sim-004", "POST"), fault: { kind: "status", code: 500 } });
    await harness.hand.delete(resources.nodes, { name: "sim-004" });
    await harness.pass(30);
    const metrics = await (await fetch(`${harness.simulator.metricsUrl}/metrics`)).text();
    expect(metrics).toContain("joulie_simulator_nodes_registered 19");
    expect((await fetch(`${harness.simulator.metricsUrl}/readyz`)).status).toBe(503);
  });

  it("keep running their pods while deleted, and write pod status once registered again", async () => {
    harness = await FleetTestHarness.begin();
    const annotations = { "sim.joulie.io/work-seconds": "30", "sim.joulie.io/kind": "compute" };
    await harness.createPod("job", "sim-004", { annotations });
    const phase = async () => (await harness.pod("job"))?.status?.phase;
    await harness.until(async () => (await phase()) === "Running");
    harness.api.faults.add({ when: names("sim-004", "POST"), fault: { kind: "status", code: 500 } });
    await harness.hand.delete(resources.nodes, { name: "sim-004" });
    await harness.pass(60);
    expect(harness.simulator.datacenter.totals.pods).toBe(0);
    expect(await phase()).toBe("Running");
    harness.api.faults.clear();
    // Both retry with backoff, at most a minute and a half.
    await harness.pass(200);
    expect(await phase()).toBe("Succeeded");
  });

  it("keep taints of other writers when a new run takes them over", async () => {
    harness = await FleetTestHarness.begin({ KEEP_OBJECTS: "true" });
    await harness.end();
    const taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };
    const patch = { spec: { unschedulable: true, taints: [taint] } };
    await harness.hand.mergePatch(resources.nodes, { name: "sim-000" }, patch);
    await harness.start({});
    const [node] = await harness.nodes();
    expect(node?.spec).toMatchObject({ unschedulable: true, taints: [taint, { key: "joulie.io/simulated" }] });
  });

  it("log a permanent rejection once", async () => {
    harness = new FleetTestHarness();
    harness.api.faults.add({ when: names("/leases", "POST"), fault: { kind: "status", code: 403 } });
    await harness.serve({});
    await harness.pass(30);
    expect(harness.log.match(/the API server rejects/g)).toHaveLength(1);
    expect(harness.log).toMatch(/"level":"warn"[^\n]*"written":"node"[^\n]*leases/);
  });

  it("have names that fit into a label", async () => {
    harness = new FleetTestHarness();
    await expect(harness.serve({ NODE_PREFIX: "x".repeat(59) })).rejects.toThrow(/NODE_PREFIX|node-prefix/);
    await harness.start({ NODE_PREFIX: "x".repeat(58), NODES: "1" });
    expect(await harness.nodes()).toHaveLength(1);
  });
});
