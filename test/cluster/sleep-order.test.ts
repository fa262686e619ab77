// The order of a sleep and of a wake, with pods that come at the wrong moment and an agent that reports late.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PowerEndpoint } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { eventually, watchFor } from "../../src/platform/clock/testing/index.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { type Program, SleepScene } from "./sleep-scene.ts";

const NODES = 12;
const everything = [{ operator: "Exists" }];

describe("the order of sleeps and wakes on a real control plane", () => {
  let plane: ControlPlane;
  let scene: SleepScene;
  let power: Program;
  let operator: Program;
  const presses: string[] = [];
  beforeAll(async () => {
    plane = await startControlPlane({ scheduler: {}, controllerManager: true });
    // A wake of a machine that never lost its power ends with the next heartbeat.
    scene = await SleepScene.open(plane, { nodes: NODES, flags: { HEARTBEAT_INTERVAL: "2s" } });
    await scene.power.stop();
    scene.onPress = (node, action) => void presses.push(`${node} ${action}`);
  });
  afterAll(async () => {
    await scene?.close();
    await plane?.stop();
  });

  const only = (node: string) => {
    const matchFields = [{ key: "metadata.name", operator: "In", values: [node] }];
    const nodeSelectorTerms = [{ matchFields }];
    return {
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
    };
  };
  const isRunning = async (pod: string) => {
    const found = (await scene.pods()).find(({ metadata }) => metadata.name === pod);
    return found?.status.phase === "Running" ? found.spec.nodeName : undefined;
  };
  const inStep = async (step: string) => {
    const isThere = ({ status }: PowerEndpoint) =>
      status?.operation?.type === "sleep" && status.operation.step === step;
    return (await scene.endpoints()).filter(isThere).map(({ metadata }) => metadata.name);
  };
  const stateOf = async (node: string) => (await scene.twin(node)).status?.power?.state ?? "on";
  const nodeOf = async (name: string) => {
    const { spec, status } = await plane.api.get<{
      readonly spec: object;
      readonly status: {
        readonly conditions: readonly { readonly type: string; readonly lastHeartbeatTime: string }[];
      };
    }>(`/api/v1/nodes/${name}`);
    return {
      tainted: JSON.stringify(spec).includes("joulie.io/asleep"),
      heartbeat: status.conditions.find(({ type }) => type === "Ready")?.lastHeartbeatTime,
    };
  };

  it("SLP-25 pods that are bound between the taint and the shutdown stop the sleep", async () => {
    power = scene.startPower({}, { settle: milliseconds(15_000) });
    operator = scene.startOperator();
    presses.length = 0;
    const chosen = await eventually(async () => {
      const counting = await inStep("count");
      return counting.length >= 2 ? counting.slice(0, 2) : undefined;
    });
    // The operator would call the nodes back. The power program must notice by itself.
    await operator.stop();
    const [named = "", tolerant = ""] = chosen;
    await scene.createPods("named", 1, 1, { nodeName: named });
    await scene.createPods("tolerant", 1, 1, { ...only(tolerant), tolerations: everything });
    await eventually(async () => (await isRunning("named-0")) === named);
    await eventually(async () => (await isRunning("tolerant-0")) === tolerant);
    for (const name of chosen) {
      await eventually(async () => (await stateOf(name)) === "on" && !(await nodeOf(name)).tainted);
      expect(presses.filter((press) => press.startsWith(`${name} `))).toEqual([]);
    }
    operator = scene.startOperator();
    expect(await scene.violations()).toEqual([]);
  });

  it("SLP-11 SLP-25 a pod that is bound after the shutdown was asked for keeps the power from being cut", async () => {
    await scene.deletePods();
    await power.stop();
    for (const { spec } of scene.fleet.datacenter.machines()) scene.deaf.add(spec.name);
    presses.length = 0;
    power = scene.startPower({ SHUTDOWN_TIMEOUT: "10s" });
    const pressed = await eventually(() => presses.find((press) => press.endsWith(" shutdown")));
    const [node = ""] = pressed.split(" ");
    await operator.stop();
    await scene.createPods("late", 1, 1, { ...only(node), tolerations: everything });
    await eventually(async () => (await isRunning("late-0")) === node);
    await eventually(async () => (await stateOf(node)) === "on" && !(await nodeOf(node)).tainted);
    expect(presses).not.toContain(`${node} forceOff`);
    expect(await scene.tolerated()).toContain("late-0");
    scene.deaf.clear();
    operator = scene.startOperator();
  });

  it("SLP-25 a pod that tolerates the taint wakes the node that it is bound to", async () => {
    await scene.deletePods();
    const node = await eventually(() => scene.off()[0]);
    await scene.createPods("wakes", 1, 1, { ...only(node), tolerations: everything });
    await eventually(async () => (await isRunning("wakes-0")) === node);
    expect(presses).toContain(`${node} on`);
    expect(await scene.tolerated()).toContain("wakes-0");
    expect(await scene.violations()).toEqual([]);
  });

  it("SLP-10 a node that is Ready again keeps its taint until its agent reports", async () => {
    const node = await eventually(() => scene.off().find((name) => name !== ""));
    await eventually(async () => (await stateOf(node)) === "off");
    scene.lateAgents.add(node);
    const before = await nodeOf(node);
    await scene.createPods("waits", 1, 1, only(node));
    await eventually(async () => (await nodeOf(node)).heartbeat !== before.heartbeat);
    expect(scene.fleet.datacenter.machine(node)?.power).toBe("on");
    await watchFor(4000);
    expect([await stateOf(node), (await nodeOf(node)).tainted, await isRunning("waits-0")]).toEqual([
      "waking",
      true,
      undefined,
    ]);
    scene.lateAgents.delete(node);
    await eventually(async () => (await isRunning("waits-0")) === node);
    expect((await nodeOf(node)).tainted).toBe(false);
    expect(await scene.violations()).toEqual([]);
  });
});
