import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { performancePod, Trial } from "./trial.ts";

const SOON = 8;
const dense = { "joulie.io/hw.cpu-cores": "512" };
const densest = ["d0", "d1", "d2", "d3", "d4"];
const live = ["l0", "l1", "l2", "l3", "l4"];
const unreachable = { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" };

describe("X-46 nodes that cannot accept pods", () => {
  let trial: Trial;
  beforeEach(async () => {
    trial = await Trial.begin();
    for (const name of densest) await trial.createNode(name, dense);
    for (const name of live) await trial.createNode(name);
  });
  afterEach(async () => trial.end());

  const ready = async (name: string, status: string) =>
    trial.hand.mergePatch(
      resources.nodes,
      { name },
      {
        status: {
          conditions: [{ type: "Ready", status, lastHeartbeatTime: new Date(trial.clock.now()).toISOString() }],
        },
      },
      { subresource: "status" },
    );
  const taint = async (name: string, taints: readonly unknown[]) =>
    trial.hand.mergePatch(resources.nodes, { name }, { spec: { taints } });
  const profiles = async (names: readonly string[]) =>
    Promise.all(names.map(async (name) => (await trial.twin(name)).spec.profile));
  const performanceOf = async (names: readonly string[]) =>
    (await profiles(names)).filter((profile) => profile === "performance").length;

  it("leave the performance places to live nodes soon, and keep their own target", async () => {
    const operator = trial.start();
    await trial.pass(SOON);
    expect(await performanceOf(densest)).toBe(5);
    expect(await performanceOf(live)).toBe(0);
    for (const name of densest) {
      await ready(name, "Unknown");
      await taint(name, [unreachable]);
    }
    await trial.createPod("waiting", undefined, performancePod);
    await trial.pass(SOON);
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
    trial.start({ PROFILE_MIN_DWELL: "0s" });
    await trial.pass(SOON);
    expect(await performanceOf(live)).toBe(3);
    expect(await trial.findTwin("d0")).toBeUndefined();
    for (const name of densest) await ready(name, "True");
    await trial.pass(2 * SOON);
    expect(await performanceOf(densest)).toBe(5);
    expect(await performanceOf(live)).toBe(0);
  });

  it("are named with their taint on /debug/plan; a GPU taint takes nothing away", async () => {
    await taint("d0", [{ key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" }]);
    const operator = trial.start();
    await trial.pass(SOON);
    expect(await performanceOf(densest)).toBe(5);
    await taint("d1", [{ key: "node.kubernetes.io/disk-pressure", effect: "NoSchedule" }]);
    await trial.pass(SOON);
    expect(JSON.parse((await operator.page("/debug/plan?node=d1")).text)).toMatchObject({
      eligibility: "tainted",
      reason: "tainted with node.kubernetes.io/disk-pressure:NoSchedule: it keeps its last target",
    });
    expect(await performanceOf(live)).toBe(1);
  });

  it("a kubelet's heartbeat on its conditions makes no pass", async () => {
    for (const name of densest) await ready(name, "True");
    for (const name of live) await ready(name, "False");
    const operator = trial.start();
    await trial.pass(SOON);
    const planned = async () => (JSON.parse((await operator.page("/debug/plan")).text) as { at: string }).at;
    const before = await planned();
    for (const name of densest) await ready(name, "True");
    for (const name of live) await ready(name, "False");
    await trial.pass(SOON);
    expect(await planned()).toBe(before);
  });
});
