import { afterEach, describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { FleetTestHarness } from "./testing/fleet-test-harness.ts";

let trial: FleetTestHarness;
afterEach(async () => trial.end());

const at = (name: string) => ({ name, namespace: "default" });
const until = async (name: string, phase: string) =>
  trial.until(async () => (await trial.pod(name))?.status?.phase === phase);
const annotations = (stop: number, work?: number) => ({
  annotations: {
    "sim.joulie.io/stop-seconds": String(stop),
    ...(work !== undefined && { "sim.joulie.io/work-seconds": String(work), "sim.joulie.io/kind": "compute" }),
  },
});

describe("pod deletion", () => {
  it("ends with its work if that finishes within the grace period", async () => {
    trial = await FleetTestHarness.begin();
    await trial.createPod("nearly", "sim-000", annotations(20, 100));
    await until("nearly", "Running");
    await trial.pass(90);
    await trial.hand.delete(resources.pods, at("nearly"));
    await trial.pass(5);
    expect((await trial.pod("nearly"))?.status?.phase).toBe("Running");
    await trial.pass(10);
    expect(await trial.pod("nearly")).toBeUndefined();
    expect(trial.simulator.datacenter.totals.pods).toBe(0);
  });

  it("keeps its end time when the pod is changed again", async () => {
    trial = await FleetTestHarness.begin();
    await trial.createPod("changing", "sim-000", annotations(20));
    await until("changing", "Running");
    await trial.hand.delete(resources.pods, at("changing"));
    for (let change = 0; change < 6; change++) {
      await trial.pass(3);
      await trial.hand.mergePatch(resources.pods, at("changing"), { metadata: { labels: { change: `${change}` } } });
    }
    await trial.pass(3);
    expect(await trial.pod("changing")).toBeUndefined();
  });

  it("records Failed in the last status when the pod is terminated", async () => {
    trial = await FleetTestHarness.begin();
    await trial.createPod("kept", "sim-000", { ...annotations(2), finalizers: ["example.com/kept"] });
    await until("kept", "Running");
    await trial.hand.delete(resources.pods, at("kept"));
    await until("kept", "Failed");
    expect((await trial.pod("kept"))?.status).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: "Ready", status: "False" })]),
      containerStatuses: [{ ready: false, state: { terminated: { exitCode: 143, reason: "Error" } } }],
    });
    await trial.hand.mergePatch(resources.pods, at("kept"), { metadata: { finalizers: null } });
    await trial.until(async () => (await trial.pod("kept")) === undefined);
    const metrics = await (await fetch(`${trial.simulator.url}/metrics`)).text();
    expect(metrics).toContain('pod_writes_total{what="failed"} 1');
    expect(metrics).toContain('pod_writes_total{what="deleted"} 1');
  });
});

describe("pod status", () => {
  it("is written again after a conflict", async () => {
    trial = await FleetTestHarness.begin();
    trial.api.faults.add({
      when: ({ path }) => path.includes("/pods/contended/status"),
      fault: { kind: "status", code: 409 },
      times: 2,
    });
    await trial.createPod("contended", "sim-000");
    await trial.pass(10);
    expect((await trial.pod("contended"))?.status?.phase).toBe("Running");
  });

  it("keeps conditions of other controllers", async () => {
    trial = await FleetTestHarness.begin();
    await trial.createPod("said", undefined, annotations(1, 5));
    const conditions = [{ type: "example.com/gate", status: "True" }];
    await trial.hand.mergePatch(resources.pods, at("said"), { status: { conditions } }, { subresource: "status" });
    await trial.hand.bind(at("said"), "sim-000");
    await until("said", "Succeeded");
    expect((await trial.pod("said"))?.status?.["conditions"]).toEqual(
      expect.arrayContaining([expect.objectContaining(conditions[0] as object)]),
    );
  });

  it("keeps the start time when the next run takes over the pod", async () => {
    trial = await FleetTestHarness.begin({ KEEP_OBJECTS: "true" });
    await trial.createPod("long", "sim-000");
    await until("long", "Running");
    const begun = (await trial.pod("long"))?.status?.startTime;
    await trial.end();
    await trial.pass(60);
    await trial.start({});
    await trial.until(() => trial.simulator.datacenter.totals.pods === 1);
    await trial.pass(5);
    expect((await trial.pod("long"))?.status?.startTime).toBe(begun);
  });
});
