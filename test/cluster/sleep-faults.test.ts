// Sleeping nodes when switches are dead, machines fail and users interfere, on a real control plane.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiVersion } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually, watchFor } from "../../src/platform/clock/testing/index.ts";
import { releaseFromWake, testWake, wake } from "../../src/programs/power/index.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { HALF, NODES, type Program, SleepScene } from "./sleep-scene.ts";

describe("sleep under faults on a real control plane with 50 simulated nodes", () => {
  let plane: ControlPlane;
  let scene: SleepScene;
  let operator: Program;
  let power: Program;
  beforeAll(async () => {
    plane = await startControlPlane({ scheduler: {}, controllerManager: true });
    scene = await SleepScene.open(plane);
    power = scene.power;
  });
  afterAll(async () => {
    await scene?.close();
    await plane?.stop();
  });

  const running = async () => (await scene.pods()).filter(({ status }) => status.phase === "Running").length;
  const machine = (name: string) => {
    const found = scene.fleet.datacenter.machine(name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  };
  const stateOf = async (name: string) => (await scene.twin(name)).status?.power?.state ?? "on";
  const isTainted = async (name: string) => {
    const { spec } = await plane.api.get<{ readonly spec: object }>(`/api/v1/nodes/${name}`);
    return JSON.stringify(spec).includes("joulie.io/asleep");
  };

  it("SLP-14 SLP-15 a dead BMC and a machine that never returns fail alone, and a proven wake clears them", async () => {
    operator = scene.startOperator();
    await scene.settles(HALF);
    await power.stop();
    power = scene.startPower({ WAKE_TIMEOUT: "12s" });
    const [dead = "", hung = ""] = scene.off();
    const path = `/apis/${apiVersion}/powerendpoints/${dead}`;
    const address = async (url: string) => plane.api.mergePatch(path, { spec: { redfish: { address: url } } });
    await address("http://127.0.0.1:1");
    const hanging = machine(hung);
    const switchOn = hanging.switchOn.bind(hanging);
    hanging.switchOn = () => switchOn(true);
    const cpu = scene.coresForAll(205);
    const room = Array.from(scene.fleet.datacenter.machines())
      .filter(({ spec }) => spec.name !== dead && spec.name !== hung)
      .reduce((sum, { spec }) => sum + Math.floor(spec.cores / cpu), 0);
    await scene.createPods("more", room + 8, cpu);
    await eventually(async () => (await running()) === room);
    await eventually(async () => (await stateOf(dead)) === "failed" && (await stateOf(hung)) === "failed");
    expect([await isTainted(dead), await isTainted(hung)]).toEqual([true, true]);
    const events = await plane.api.get<{ readonly items: readonly { readonly reason: string }[] }>(
      "/apis/events.k8s.io/v1/events",
    );
    expect(events.items.filter(({ reason }) => reason === "WakeFailed").length).toBeGreaterThanOrEqual(2);
    expect(await running()).toBe(room);
    // The administrator repairs both.
    hanging.switchOn = switchOn;
    await address(scene.fleet.url);
    const options = { client: scene.client(), clock: systemClock, timeout: milliseconds(60_000) };
    const [first, second] = await Promise.all([
      testWake({ ...options, node: dead }),
      testWake({ ...options, node: hung }),
    ]);
    expect([first, second]).toMatchObject([{ result: "proven" }, { result: "proven" }]);
    await power.stop();
    power = scene.startPower();
    await eventually(async () => (await running()) === room + 8);
    expect(await scene.violations()).toEqual([]);
  });

  it("SLP-20 while the API server is away nothing is switched off, and work goes on after it", async () => {
    await scene.deletePods();
    await eventually(() => scene.off().length > 3);
    await plane.apiserver.kill();
    // A switch may still act on requests from before, until it has acted on none for a second.
    await eventually(async () => {
      const count = scene.cuts;
      await watchFor(1000);
      return scene.cuts === count;
    });
    const before = scene.cuts;
    await watchFor(5000);
    expect(scene.cuts).toBe(before);
    await plane.apiserver.start();
    await scene.settles(HALF);
    expect(await scene.violations()).toEqual([]);
  });

  it("SLP-17 a machine that was switched on by hand is used", async () => {
    const [name = ""] = scene.off();
    scene.fleet.datacenter.press(machine(name), "on");
    await eventually(async () => (await stateOf(name)) === "on" && !(await isTainted(name)));
    expect(machine(name).power).toBe("on");
  });

  it("SLP-18 a node that is deleted or loses its label while asleep is woken", async () => {
    await scene.settles(HALF);
    const [deleted = "", unlabelled = ""] = scene.off();
    await plane.kubectl(["delete", "node", deleted, "--wait=false"]);
    await plane.kubectl(["label", "node", unlabelled, "joulie.io/may-sleep-"]);
    await eventually(() => [deleted, unlabelled].every((name) => machine(name).power === "on"));
    await eventually(async () => !(await isTainted(unlabelled)));
    // Its kubelet registers the deleted node again.
    await eventually(async () => !(await isTainted(deleted).catch(() => true)));
    expect(await scene.violations()).toEqual([]);
  });

  it("SLP-16 `joulie wake --all` wakes every node, also without the operator", async () => {
    await operator.stop();
    const client = scene.client();
    expect(await wake({ client, clock: systemClock, timeout: milliseconds(60_000) })).toBeUndefined();
    const isOn = Array.from(scene.fleet.datacenter.machines()).filter(({ power: state }) => state === "on");
    expect(isOn).toHaveLength(NODES);
    await releaseFromWake(client);
    expect(await scene.violations()).toEqual([]);
  });
});
