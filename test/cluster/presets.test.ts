// The preset of a running cluster is changed, in both directions, as a rollout of all programs does.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PresetName } from "../../src/core/presets/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { type Program, SleepScene } from "./sleep-scene.ts";

const NODES = 12;

describe("presets on a real control plane", () => {
  let plane: ControlPlane;
  let scene: SleepScene;
  let operator: Program | undefined;
  beforeAll(async () => {
    plane = await startControlPlane({ scheduler: {}, controllerManager: true });
    scene = await SleepScene.open(plane, { nodes: NODES, flags: { HEARTBEAT_INTERVAL: "2s" } });
  });
  afterAll(async () => {
    await scene?.close();
    await plane?.stop();
  });

  /** Replaces operator and agent. The variables of the scene that presets decide are left to the preset. */
  const change = async (preset: PresetName): Promise<void> => {
    await operator?.stop();
    operator = scene.startOperator({ PRESET: preset, SLEEP_MODE: "", PROFILE_MIN_DWELL: "2s", FIT_RESERVE: "0" });
    await scene.restartAgent({ PRESET: preset });
  };
  const machines = () => Array.from(scene.fleet.datacenter.machines());
  const capped = () =>
    machines()
      .filter(({ spec: { hardware }, physics: { caps } }) => {
        const cpu = caps.cpuWattsPerPackage ?? Infinity;
        const gpu = caps.gpuWattsPerBoard ?? Infinity;
        return cpu < (hardware.cpu.maxWattsPerSocket ?? 0) || gpu < (hardware.gpu?.maxWatts ?? 0);
      })
      .map(({ spec }) => spec.name);
  /** The node of the performance pod. */
  const nodeOfWork = async () => (await scene.pods()).find(({ status }) => status.phase === "Running")?.spec.nodeName;
  const isAllAwake = async () =>
    scene.off().length === 0 &&
    (await scene.endpoints()).every(({ status }) => status?.operation === undefined) &&
    (await scene.twins()).every(({ status }) => (status?.power?.state ?? "on") === "on");
  const expectNoHarm = async () => {
    expect(scene.fleet.datacenter.offences).toMatchObject({ pods: 0 });
    expect(await scene.violations()).toEqual([]);
  };

  it("PRE-09 begins with sleeping and capped nodes, and a performance pod at full speed", async () => {
    await change("energy-sleep");
    const annotations = { "joulie.io/workload-class": "performance" };
    const containers = [{ name: "main", image: "none", resources: { requests: { cpu: "4" } } }];
    await plane.api.create("/api/v1/namespaces/default/pods", {
      metadata: { name: "work", labels: { "joulie.io/simulated": "true" }, annotations },
      // No extender runs here: the label says which nodes are performance.
      spec: { containers, restartPolicy: "Never", nodeSelector: { "joulie.io/power-profile": "performance" } },
    });
    await eventually(async () => (await nodeOfWork()) !== undefined);
    await eventually(() => scene.off().length > 1);
    await eventually(() => capped().length > 0);
    expect(capped()).not.toContain(await nodeOfWork());
    await expectNoHarm();
  });

  it("PRE-09 back to observe wakes all nodes and lifts all caps", async () => {
    await change("observe");
    await eventually(isAllAwake);
    await eventually(() => capped().length === 0);
    expect(scene.off()).toEqual([]);
    await expectNoHarm();
  });

  it("PRE-09 to partition caps nodes without the performance pod", async () => {
    await change("partition");
    await eventually(() => capped().length > 0);
    expect(capped()).not.toContain(await nodeOfWork());
    expect(scene.off()).toEqual([]);
    await expectNoHarm();
  });

  it("PRE-09 to energy-sleep and from there to energy, which wakes what sleeps and keeps caps", async () => {
    await change("energy-sleep");
    await eventually(() => scene.off().length > 1);
    await change("energy");
    await eventually(isAllAwake);
    await eventually(() => capped().length > 0);
    expect(capped()).not.toContain(await nodeOfWork());
    await expectNoHarm();
  });
});
