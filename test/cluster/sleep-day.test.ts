// A night and a day of fifty simulated machines on a real control plane, with the declared permissions of all programs.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually, eventuallyPasses, watchFor } from "../../src/platform/clock/testing/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { ClusterObserver } from "../../src/programs/audit/index.ts";
import { fleetPermissions } from "../../src/programs/fleet/permissions.ts";
import { operatorPermissions } from "../../src/programs/operator/permissions.ts";
import { testWake } from "../../src/programs/power/index.ts";
import { uninstall } from "../../src/programs/uninstall/uninstall.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { compareRights } from "../controlplane/rights.ts";
import { HALF, NODES, type Program, SleepScene } from "./sleep-scene.ts";

interface Events {
  readonly items: readonly {
    readonly reason: string;
    readonly message?: string;
    readonly note?: string;
    readonly regarding?: { readonly kind: string; readonly name: string };
  }[];
}

describe("sleep on a real control plane with 50 simulated nodes", () => {
  let plane: ControlPlane;
  let scene: SleepScene;
  let operator: Program;
  let observer: ClusterObserver;
  beforeAll(async () => {
    plane = await startControlPlane({ scheduler: {}, controllerManager: true, audit: true });
    scene = await SleepScene.open(plane);
    observer = new ClusterObserver({
      client: scene.client(),
      clock: systemClock,
      ioClock: systemClock,
      random: systemRandom,
      log: createLogger({ level: "silent", program: "audit" }),
      datacenter: scene.fleet.datacenter,
      namespace: "joulie-system",
      stale: milliseconds(600_000),
      settling: milliseconds(30_000),
      wakeMargin: () => milliseconds(600_000),
    });
    observer.start();
  });
  afterAll(async () => {
    await observer?.stop();
    await scene?.close();
    await plane?.stop();
  });

  const running = async () => (await scene.pods()).filter(({ status }) => status.phase === "Running").length;
  const events = async (reason: string) => {
    const { items } = await plane.api.get<Events>("/apis/events.k8s.io/v1/events");
    return items.filter((event) => event.reason === reason);
  };
  const wokenSince = async (off: readonly string[]) => {
    const wanted = await scene.twins();
    return wanted.filter(({ metadata, spec }) => off.includes(metadata.name) && spec.power?.state !== "off").length;
  };

  it("SLP-21 SLP-61 every wake was proven by switching the machine off and on", async () => {
    expect(await scene.proven()).toBe(NODES);
    for (const { status } of await scene.endpoints()) {
      expect(status?.lastWake?.result).toBe("succeeded");
      expect(status?.lastSleep?.result).toBe("succeeded");
    }
    expect(scene.off()).toEqual([]);
  });

  it("SLP-41 SLP-42 in the evening half of the empty nodes fall asleep", async () => {
    operator = scene.startOperator();
    await scene.settles(HALF);
    const off = new Set(scene.off());
    for (const { metadata, spec, status } of await scene.twins()) {
      const isOff = off.has(metadata.name);
      expect([metadata.name, spec.power?.state ?? "on"]).toEqual([metadata.name, isOff ? "off" : "on"]);
      expect([metadata.name, status?.power?.state ?? "on"]).toEqual([metadata.name, isOff ? "off" : "on"]);
    }
    await eventually(async () => {
      const classes = (await scene.twins()).map(({ status }) => status?.schedulableClass);
      return classes.filter((one) => one === "asleep").length === HALF;
    });
    const { wall, alwaysOn } = scene.fleet.datacenter.totals;
    expect(wall.watts).toBeLessThan(0.75 * alwaysOn.watts);
  });

  it("SLP-46 SLP-52 a burst of 200 pods at night wakes nodes, and every pod runs", async () => {
    const cpu = scene.coresForAll(205);
    const before = scene.off();
    await scene.createPods("burst", 200, cpu);
    await eventually(async () => (await wokenSince(before)) > 0);
    await eventually(async () => (await running()) === 200);
    const told = await events("WaitsForNode");
    expect(told.length).toBeGreaterThan(0);
    expect(told[0]?.note ?? told[0]?.message).toMatch(/^waking node sim-\d+, about \d+ min$/);
    expect(told[0]?.regarding?.kind).toBe("Pod");
    expect(await scene.violations()).toEqual([]);
  });

  it("SLP-52 a pending pod wakes a node at once, by its watch event and not by the next tick", async () => {
    await scene.deletePods();
    await scene.settles(HALF);
    await operator.stop();
    operator = scene.startOperator({ RECONCILE_INTERVAL: "10m" });
    const cpu = scene.coresForAll(205);
    // As many pods as fit on the nodes that are awake; the next one fits on none of them.
    const off = new Set(scene.off());
    const awake = Array.from(scene.fleet.datacenter.machines()).filter(({ spec }) => !off.has(spec.name));
    const room = awake.reduce((sum, { spec }) => sum + Math.floor(spec.cores / cpu), 0);
    await scene.createPods("awake", room, cpu);
    await eventually(async () => (await running()) === room);
    await watchFor(2000);
    expect(await wokenSince([...off])).toBe(0);
    await scene.createPods("late", 1, cpu);
    // Long before the next tick. The unit tests of the operator show, in virtual time, that it takes less than two seconds.
    await eventually(async () => (await wokenSince([...off])) > 0);
    await eventually(async () => (await running()) === room + 1);
    const told = await events("WaitsForNode");
    expect(told.some(({ regarding }) => regarding?.name === "late-0")).toBe(true);
    expect(await scene.violations()).toEqual([]);
  });

  it("SLP-21 `joulie power test` on a node with pods is refused, and on an empty one proves its wake", async () => {
    const busy = (await scene.pods())[0]?.spec.nodeName ?? "";
    const client = scene.client();
    const options = { client, clock: systemClock, timeout: milliseconds(60_000) };
    const refused = await testWake({ ...options, node: busy });
    expect(refused).toMatchObject({
      result: "skipped",
      message: expect.stringContaining("pods are on the node") as string,
    });
    await scene.deletePods();
    const steps: string[] = [];
    const empty = Array.from(scene.fleet.datacenter.machines()).find(({ power }) => power === "on")?.spec.name ?? "";
    const proven = await testWake({ ...options, node: empty, onStep: (step) => steps.push(step) });
    expect(proven).toMatchObject({ result: "proven" });
    expect(steps.length).toBeGreaterThan(0);
  });

  it("SLP-46 the checks of the demo hold: sleeps, wakes and caps were seen, and no pod was bound to a machine that was off", async () => {
    await eventuallyPasses(() => {
      observer.runPeriodicChecks();
      expect(observer.sleeps.counts.sleeps).toBeGreaterThan(HALF);
      expect(observer.sleeps.counts.wakes).toBeGreaterThan(0);
      expect(observer.caps.figures.eco).toBeGreaterThan(0);
      const expected = { twins: true, drains: undefined, figures: false, any: false, sleep: true };
      expect(observer.checks(expected).filter(({ ok }) => !ok)).toEqual([]);
    });
  });

  it("SLP-23 after uninstall every node is on, and no pod ever met a node that was off", async () => {
    await operator.stop();
    operator = scene.startOperator();
    await scene.settles(HALF);
    const failed = await uninstall({
      client: scene.client(),
      clock: systemClock,
      namespace: "joulie-system",
      timeout: milliseconds(20_000),
      wakeTimeout: milliseconds(90_000),
      labels: [],
      keepObjects: false,
    });
    expect(failed).toBeUndefined();
    expect(scene.off()).toEqual([]);
    const nodes = await plane.api.get<{ readonly items: readonly { readonly spec: object }[] }>("/api/v1/nodes");
    expect(JSON.stringify(nodes.items)).not.toContain("joulie.io/asleep");
    expect(await scene.violations()).toEqual([]);
    expect(scene.witness.gaps).toBe(0);
  });

  it("X-12 the programs needed every right of their roles for sleep, and no other", async () => {
    const user = (program: "operator" | "fleet") => scene.identity(program).user;
    await scene.close();
    const audited = plane.audited();
    const of = (user: string) => audited.filter((request) => request.user === user);
    const { missing, unused } = compareRights(
      operatorPermissions("joulie-system", { sleep: true }),
      of(user("operator")),
    );
    expect(missing).toEqual([]);
    expect(unused.filter((right) => /powerendpoints|persistentvolumes|configmaps/.test(right))).toEqual([]);
    const fleet = compareRights(fleetPermissions("default", { sleep: true }), of(user("fleet")));
    expect(fleet.missing).toEqual([]);
    expect(fleet.unused.filter((right) => right.includes("powerendpoints"))).toEqual([]);
  });
});
