import { afterEach, describe, expect, it } from "vitest";
import { resources } from "../../../platform/kube/index.ts";
import { FleetTestHarness } from "../testing/fleet-test-harness.ts";

let harness: FleetTestHarness;
afterEach(async () => harness.end());

const at = (name: string) => ({ name, namespace: "default" });
const until = async (name: string, phase: string) =>
  harness.until(async () => (await harness.pod(name))?.status?.phase === phase);
const annotations = (stop: number, work?: number) => ({
  annotations: {
    "sim.joulie.io/stop-seconds": String(stop),
    ...(work !== undefined && { "sim.joulie.io/work-seconds": String(work), "sim.joulie.io/kind": "compute" }),
  },
});

describe("pod deletion", () => {
  it("ends with its work if that finishes within the grace period", async () => {
    harness = await FleetTestHarness.begin();
    await harness.createPod("nearly", "sim-000", annotations(20, 100));
    await until("nearly", "Running");
    await harness.pass(90);
    await harness.hand.delete(resources.pods, at("nearly"));
    await harness.pass(5);
    expect((await harness.pod("nearly"))?.status?.phase).toBe("Running");
    await harness.pass(10);
    expect(await harness.pod("nearly")).toBeUndefined();
    expect(harness.simulator.datacenter.totals.pods).toBe(0);
  });

  it("keeps its end time when the pod is changed again", async () => {
    harness = await FleetTestHarness.begin();
    await harness.createPod("changing", "sim-000", annotations(20));
    await until("changing", "Running");
    await harness.hand.delete(resources.pods, at("changing"));
    for (let change = 0; change < 6; change++) {
      await harness.pass(3);
      await harness.hand.mergePatch(resources.pods, at("changing"), { metadata: { labels: { change: `${change}` } } });
    }
    await harness.pass(3);
    expect(await harness.pod("changing")).toBeUndefined();
  });

  it("records Failed in the last status when the pod is terminated", async () => {
    harness = await FleetTestHarness.begin();
    await harness.createPod("kept", "sim-000", { ...annotations(2), finalizers: ["example.com/kept"] });
    await until("kept", "Running");
    await harness.hand.delete(resources.pods, at("kept"));
    await until("kept", "Failed");
    expect((await harness.pod("kept"))?.status).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: "Ready", status: "False" })]),
      containerStatuses: [{ ready: false, state: { terminated: { exitCode: 143, reason: "Error" } } }],
    });
    await harness.hand.mergePatch(resources.pods, at("kept"), { metadata: { finalizers: null } });
    await harness.until(async () => (await harness.pod("kept")) === undefined);
  });
});

describe("pod status", () => {
  it("is written again after a conflict", async () => {
    harness = await FleetTestHarness.begin();
    harness.api.faults.add({
      when: ({ path }) => path.includes("/pods/contended/status"),
      fault: { kind: "status", code: 409 },
      times: 2,
    });
    await harness.createPod("contended", "sim-000");
    await harness.pass(10);
    expect((await harness.pod("contended"))?.status?.phase).toBe("Running");
  });

  it("keeps conditions of other controllers", async () => {
    harness = await FleetTestHarness.begin();
    await harness.createPod("said", undefined, annotations(1, 5));
    const conditions = [{ type: "example.com/gate", status: "True" }];
    await harness.hand.mergePatch(resources.pods, at("said"), { status: { conditions } }, { subresource: "status" });
    await harness.hand.bind(at("said"), "sim-000");
    await until("said", "Succeeded");
    expect((await harness.pod("said"))?.status?.["conditions"]).toEqual(
      expect.arrayContaining([expect.objectContaining(conditions[0] as object)]),
    );
  });

  it("keeps the start time when the next run takes over the pod", async () => {
    harness = await FleetTestHarness.begin({ KEEP_OBJECTS: "true" });
    await harness.createPod("long", "sim-000");
    await until("long", "Running");
    const begun = (await harness.pod("long"))?.status?.startTime;
    await harness.end();
    await harness.pass(60);
    await harness.start({});
    await harness.until(() => harness.simulator.datacenter.totals.pods === 1);
    await harness.pass(5);
    expect((await harness.pod("long"))?.status?.startTime).toBe(begun);
  });
});
