import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../../platform/kube/index.ts";
import { OperatorTestHarness, performancePod } from "../testing/test-harness.ts";

const SOON = 8;
const dense = { "joulie.io/hw.cpu-cores": "512" };
const densest = ["d0", "d1", "d2", "d3", "d4"];
const live = ["l0", "l1", "l2", "l3", "l4"];
const unreachable = { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" };

describe("X-46 nodes that cannot accept pods", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    for (const name of densest) await harness.createNode(name, dense);
    for (const name of live) await harness.createNode(name);
  });
  afterEach(async () => harness.end());

  const ready = async (name: string, status: string) =>
    harness.user.mergePatch(
      resources.nodes,
      { name },
      {
        status: {
          conditions: [{ type: "Ready", status, lastHeartbeatTime: new Date(harness.clock.now()).toISOString() }],
        },
      },
      { subresource: "status" },
    );
  const taint = async (name: string, taints: readonly unknown[]) =>
    harness.user.mergePatch(resources.nodes, { name }, { spec: { taints } });
  const profiles = async (names: readonly string[]) =>
    Promise.all(names.map(async (name) => (await harness.twin(name)).spec.profile));
  const performanceOf = async (names: readonly string[]) =>
    (await profiles(names)).filter((profile) => profile === "performance").length;

  it("yield the performance places to live nodes, and keep their own target", async () => {
    const operator = harness.start();
    await harness.advance(SOON);
    expect(await performanceOf(densest)).toBe(5);
    expect(await performanceOf(live)).toBe(0);
    for (const name of densest) {
      await ready(name, "Unknown");
      await taint(name, [unreachable]);
    }
    await harness.createPod("waiting", undefined, performancePod);
    await harness.advance(SOON);
    expect(await performanceOf(densest)).toBe(5);
    expect(await performanceOf(live)).toBe(3);
    const page = await operator.page("/debug/plan?node=d0");
    expect(JSON.parse(page.text)).toMatchObject({
      eligibility: "not ready",
      reason: "not ready: it keeps its last target",
    });
  });

  it("count again once they are ready and without the taint", async () => {
    for (const name of densest) await ready(name, "False");
    harness.start({ PROFILE_MIN_DWELL: "0s" });
    await harness.advance(SOON);
    expect(await performanceOf(live)).toBe(3);
    expect(await harness.findTwin("d0")).toBeUndefined();
    for (const name of densest) await ready(name, "True");
    await harness.advance(2 * SOON);
    expect(await performanceOf(densest)).toBe(5);
    expect(await performanceOf(live)).toBe(0);
  });

  it("are shown with their taint on /debug/plan; a GPU taint has no effect", async () => {
    await taint("d0", [{ key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" }]);
    const operator = harness.start();
    await harness.advance(SOON);
    expect(await performanceOf(densest)).toBe(5);
    await taint("d1", [{ key: "node.kubernetes.io/disk-pressure", effect: "NoSchedule" }]);
    await harness.advance(SOON);
    expect(JSON.parse((await operator.page("/debug/plan?node=d1")).text)).toMatchObject({
      eligibility: "tainted",
      reason: "tainted with node.kubernetes.io/disk-pressure:NoSchedule: it keeps its last target",
    });
    expect(await performanceOf(live)).toBe(1);
  });

  it("a kubelet heartbeat triggers no pass", async () => {
    for (const name of densest) await ready(name, "True");
    for (const name of live) await ready(name, "False");
    const operator = harness.start();
    await harness.advance(SOON);
    const planned = async () => (JSON.parse((await operator.page("/debug/plan")).text) as { at: string }).at;
    const before = await planned();
    for (const name of densest) await ready(name, "True");
    for (const name of live) await ready(name, "False");
    await harness.advance(SOON);
    expect(await planned()).toBe(before);
  });
});
