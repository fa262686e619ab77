import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

const SLOW_READ = milliseconds(8000);

describe("joulie power and pods that are promised to a node", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());

  it.each(["nomination", "claim"] as const)("X-131 counts a pod that is promised to the node by its %s", async (by) => {
    const machine = await harness.createNode("a");
    const steps: string[] = [];
    harness.start().onRequest = ({ body = "" }) => void steps.push(...(/"step":"\w+"/.exec(body) ?? []));
    await harness.want("a", "off");
    await harness.until(async () => (await harness.step("a")) === "count");
    await harness.createPromisedPod("db", "a", by);
    await harness.until(async () => (await harness.events()).some(({ reason }) => reason === "SleepGivenUp"));
    expect([machine.offCalls, await harness.isTainted("a")]).toEqual([0, false]);
    // Before the first read of the switch, not only by the last check.
    expect(steps).not.toContain('"step":"shutdown"');
    await harness.user.delete(resources.pods, { name: "db", namespace: "default" });
    await harness.untilPower("a", "off");
  });

  it.each(["nomination", "claim"] as const)("X-131 sets no taint while a pod has the promise of a %s", async (by) => {
    const machine = await harness.createNode("a");
    await harness.createPromisedPod("db", "a", by);
    harness.start();
    await harness.want("a", "off");
    await harness.until(() => machine.calls.length > 1);
    expect([machine.offCalls, await harness.isTainted("a"), await harness.step("a")]).toEqual([0, false, undefined]);
    const note = "the node stays on: 1 pods are about to be bound to the node: default/db";
    await harness.until(async () =>
      (await harness.events()).some((event) => event.reason === "SleepDelayed" && event.note === note),
    );
    await harness.user.delete(resources.pods, { name: "db", namespace: "default" });
    await harness.untilPower("a", "off");
  });

  it("X-131 switches a node off although pods are promised to another one", async () => {
    const machine = await harness.createNode("a");
    await harness.createPromisedPod("elsewhere", "b", "claim");
    await harness.createPromisedPod("nominated", "b", "nomination");
    harness.start();
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    expect(machine.offCalls).toBe(1);
  });

  it("X-132 switches no node off that runs a static pod of the control plane", async () => {
    const machine = await harness.createNode("a");
    await harness.createPod("etcd-a", "a", {
      labels: { component: "etcd", tier: "control-plane" },
      annotations: { "kubernetes.io/config.mirror": "x" },
    });
    harness.start();
    await harness.want("a", "off");
    await harness.until(async () => (await harness.events()).some(({ reason }) => reason === "SleepGivenUp"));
    expect(machine.offCalls).toBe(0);
  });

  it.each(["etcd", "controlplane", "master", "control-plane"])(
    "X-132 switches no node off with the role %s",
    async (role) => {
      const machine = await harness.createNode("a", { own: { [`node-role.kubernetes.io/${role}`]: "true" } });
      harness.start();
      await harness.want("a", "off");
      await harness.advance(120);
      expect([machine.offCalls, await harness.isTainted("a")]).toEqual([0, false]);
    },
  );

  const happenings: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["a pod is bound", async () => harness.createPod("late", "a")],
    ["a pod is promised to the node", async () => harness.createPromisedPod("late", "a", "claim")],
    ["a user keeps the node awake", async () => harness.annotate("a", { "joulie.io/keep-awake": "true" })],
    ["a user stops everything", async () => harness.stopAll("true")],
    ["the operator changes its mind", async () => harness.want("a", "on")],
  ];
  const slowNode = async () => {
    const machine = await harness.createNode("a");
    machine.ignoresShutdown = true;
    machine.readTakes = SLOW_READ;
    harness.start({ SHUTDOWN_TIMEOUT: "1m" });
    await harness.want("a", "off");
    return machine;
  };

  it.each(happenings)("X-130 sends no shutdown if %s while a slow switch is read", async (_, happen) => {
    const machine = await slowNode();
    await harness.until(() => machine.reading === "shutdown");
    await happen();
    await harness.advance(60);
    expect(machine.offCalls).toBe(0);
  });

  it.each(happenings)("X-130 cuts no power if %s while a slow switch is read", async (_, happen) => {
    const machine = await slowNode();
    await harness.until(() => machine.reading === "forceOff");
    await happen();
    await harness.advance(60);
    expect(machine.calls).not.toContain("forceOff");
  });
});
