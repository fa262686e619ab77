import { afterEach, describe, expect, it } from "vitest";
import { type ApiRequest, type KubeObject, resources } from "../../platform/kube/index.ts";
import { FleetTestHarness } from "./testing/fleet-test-harness.ts";

let trial: FleetTestHarness;
afterEach(async () => {
  trial.api.faults.clear();
  await trial.end();
});

interface NodeLease extends KubeObject {
  readonly spec: { readonly renewTime: string; readonly leaseDurationSeconds: number };
}

const LEASES = "kube-node-lease";
const lease = async (name: string) => trial.hand.get<NodeLease>(resources.leases, { name, namespace: LEASES });
/** Seconds of real time since a node's last heartbeat. */
const age = async (name: string) => (trial.ioClock.now() - Date.parse((await lease(name)).spec.renewTime)) / 1000;
const conditions = async (name: string) =>
  (await trial.nodes()).find(({ metadata }) => metadata.name === name)?.status?.["conditions"] as {
    readonly type: string;
    readonly status: string;
  }[];
const isReady = async (name: string) => (await conditions(name)).find(({ type }) => type === "Ready")?.status;
/** Marks a node NotReady, as the node controller does after missed heartbeats. */
const giveUp = async (name: string) => {
  const lost = (await conditions(name)).map((one) => (one.type === "Ready" ? { ...one, status: "Unknown" } : one));
  await trial.hand.mergePatch(
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
    trial = await FleetTestHarness.begin();
    await trial.pass(120);
    for (const { metadata } of await trial.nodes()) expect(await age(metadata.name)).toBeLessThan(15);
    expect((await lease("sim-000")).spec.leaseDurationSeconds).toBe(40);
  });

  it("start with the first node, even if others take long", async () => {
    trial = new FleetTestHarness();
    trial.api.faults.add({ when: names("sim-007", "POST"), fault: { kind: "status", code: 500 } });
    await trial.serve({});
    await trial.pass(120);
    expect(await trial.nodes()).toHaveLength(19);
    expect(await age("sim-001")).toBeLessThan(15);
    trial.api.faults.clear();
    await trial.until(async () => (await trial.nodes()).length === 20);
  });

  it("make a node Ready again after the controller marked it NotReady", async () => {
    trial = await FleetTestHarness.begin();
    const since = await conditions("sim-002");
    await trial.pass(15);
    await giveUp("sim-002");
    await trial.pass(75);
    expect(await isReady("sim-002")).toBe("True");
    const transition = (of: readonly object[]) =>
      of.map((one) => (one as Record<string, string>)["lastTransitionTime"]);
    expect(transition(await conditions("sim-002"))).toEqual(transition(since));
  });

  it("are repeated at once after a failure, together with the Ready condition", async () => {
    trial = await FleetTestHarness.begin();
    await trial.pass(15);
    await giveUp("sim-002");
    trial.api.faults.add({
      when: (request) => request.path.includes("/leases/") && names("sim-002", "PATCH")(request),
      fault: { kind: "status", code: 500 },
      times: 1,
    });
    await trial.pass(14);
    expect(await isReady("sim-002")).toBe("True");
    expect(await age("sim-002")).toBeLessThan(15);
  });
});

describe("a Node of another owner", () => {
  it("that exists at the start keeps its pods unchanged", async () => {
    trial = new FleetTestHarness();
    await trial.hand.create(resources.nodes, { metadata: { name: "sim-007" } });
    await trial.createPod("theirs", "sim-007");
    await trial.start({});
    await trial.pass(30);
    await expect(trial.end()).rejects.toThrow("the Node sim-007 exists and is not simulated");
    expect((await trial.pod("theirs"))?.status?.phase).toBe("Pending");
    trial = new FleetTestHarness();
  });

  it("that appears later receives no heartbeats, and the fleet exits", async () => {
    trial = await FleetTestHarness.begin();
    await trial.hand.delete(resources.nodes, { name: "sim-004" });
    await trial.until(async () =>
      lease("sim-004").then(
        () => false,
        () => true,
      ),
    );
    const made = await trial.hand.create(resources.nodes, { metadata: { name: "sim-004" } });
    const renewTime = "2026-01-01T00:00:00.000000Z";
    const theirs = { metadata: { name: "sim-004" }, spec: { holderIdentity: "sim-004", renewTime } };
    await trial.hand.create(resources.leases, theirs, { namespace: LEASES });
    let ended = false;
    void trial.running.catch(() => (ended = true));
    await trial.until(() => ended);
    await expect(trial.end()).rejects.toThrow("the Node sim-004 exists");
    expect((await trial.nodes()).map(({ metadata }) => metadata.uid)).toEqual([made.metadata.uid]);
    expect((await lease("sim-004")).spec.renewTime).toBe(renewTime);
    trial = new FleetTestHarness();
  });
});

describe("nodes", () => {
  it("are counted while they exist", async () => {
    trial = await FleetTestHarness.begin();
    trial.api.faults.add({ when: names("sim-004", "POST"), fault: { kind: "status", code: 500 } });
    await trial.hand.delete(resources.nodes, { name: "sim-004" });
    await trial.pass(30);
    const metrics = await (await fetch(`${trial.simulator.url}/metrics`)).text();
    expect(metrics).toContain("joulie_simulator_nodes_registered 19");
    expect((await fetch(`${trial.simulator.url}/readyz`)).status).toBe(503);
  });

  it("keep running their pods while deleted, and write pod status once registered again", async () => {
    trial = await FleetTestHarness.begin();
    const annotations = { "sim.joulie.io/work-seconds": "30", "sim.joulie.io/kind": "compute" };
    await trial.createPod("job", "sim-004", { annotations });
    const phase = async () => (await trial.pod("job"))?.status?.phase;
    await trial.until(async () => (await phase()) === "Running");
    trial.api.faults.add({ when: names("sim-004", "POST"), fault: { kind: "status", code: 500 } });
    await trial.hand.delete(resources.nodes, { name: "sim-004" });
    await trial.pass(60);
    expect(trial.simulator.datacenter.totals.pods).toBe(0);
    expect(await phase()).toBe("Running");
    trial.api.faults.clear();
    // Both retry with backoff, at most a minute and a half.
    await trial.pass(200);
    expect(await phase()).toBe("Succeeded");
  });

  it("keep taints of other writers when a new run takes them over", async () => {
    trial = await FleetTestHarness.begin({ KEEP_OBJECTS: "true" });
    await trial.end();
    const taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };
    const patch = { spec: { unschedulable: true, taints: [taint] } };
    await trial.hand.mergePatch(resources.nodes, { name: "sim-000" }, patch);
    await trial.start({});
    const [node] = await trial.nodes();
    expect(node?.spec).toMatchObject({ unschedulable: true, taints: [taint, { key: "joulie.io/simulated" }] });
  });

  it("log a permanent rejection once", async () => {
    trial = new FleetTestHarness();
    trial.api.faults.add({ when: names("/leases", "POST"), fault: { kind: "status", code: 403 } });
    await trial.serve({});
    await trial.pass(30);
    expect(trial.log.match(/the API server rejects/g)).toHaveLength(1);
    expect(trial.log).toMatch(/"level":"warn"[^\n]*"written":"node"[^\n]*leases/);
  });

  it("have names that fit into a label", async () => {
    trial = new FleetTestHarness();
    await expect(trial.serve({ NODE_PREFIX: "x".repeat(59) })).rejects.toThrow(/NODE_PREFIX|node-prefix/);
    await trial.start({ NODE_PREFIX: "x".repeat(58), NODES: "1" });
    expect(await trial.nodes()).toHaveLength(1);
  });
});
