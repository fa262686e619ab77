// A node that another controller deletes and re-creates in each step of a sleep and of a wake, on a real API server.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { PowerEndpointStatus } from "../../src/core/api/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { FakeHttpServer } from "../../src/platform/switch/testing/fake-http-server.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { AttackScene } from "./attack-scene.ts";

type IsReached = (status: PowerEndpointStatus) => boolean;
const inStep =
  (type: string, step: string): IsReached =>
  ({ operation }) =>
    operation?.type === type && operation.step === step;
const isOff: IsReached = ({ operation, lastSleep, lastWake }) =>
  operation === undefined && Date.parse(lastSleep?.at ?? "") > Date.parse(lastWake?.at ?? "");

const never: IsReached = () => false;
/** What the switch was sent, for steps that begin with that. */
const sent: Readonly<Record<string, string>> = { "shutting down": "shutdown", "losing its power": "forceOff" };
const byForce: readonly string[] = ["stopping by force", "losing its power"];
const hasLostPower: readonly string[] = [...Object.keys(sent), "off"];

const steps: readonly [string, IsReached][] = [
  ["before the taint", inStep("sleep", "taint")],
  ["tainted", inStep("sleep", "count")],
  ["stopping", inStep("sleep", "shutdown")],
  ["stopping by force", inStep("sleep", "force")],
  ["shutting down", never],
  ["losing its power", never],
  ["off", isOff],
  ["waking", inStep("wake", "on")],
  ["booting", inStep("wake", "ready")],
  ["awake", inStep("wake", "untaint")],
];

describe("a node that is deleted and re-created by another controller", () => {
  let plane: ControlPlane;
  let scene: AttackScene;
  const actions: string[] = [];
  let reads = 0;
  let onAction: (action: string) => Promise<void> = async () => undefined;
  const server = new FakeHttpServer(({ method, body }) => {
    const { machine } = scene;
    if (method === "GET") {
      reads++;
      return { json: { state: machine.power } };
    }
    const { action } = JSON.parse(body) as { action: string };
    actions.push(action);
    void (action === "on" ? machine.switchOn() : machine.switchOff(action !== "shutdown"));
    void onAction(action);
    return { status: 202 };
  });
  beforeAll(async () => {
    plane = await startControlPlane({ controllerManager: true });
    scene = await AttackScene.open(plane, { webhook: { url: await server.listen() } });
    await eventually(async () => (await scene.endpoint()).status?.wakeProven === true);
  });
  afterAll(async () => {
    await scene?.close();
    await server.close();
    await plane?.stop();
  });
  afterEach(async () => {
    scene.machine.isDeaf = false;
    await plane.kubectl(["delete", "pods", "--all", "--force", "--grace-period=0"]);
    scene.wanted = "on";
    await eventually(async () => scene.isUsable());
  });

  /** Sends the node to sleep, and to wake after that, and attacks right after the power program has written the step. */
  const reach = async (title: string, isReached: IsReached, attack: () => Promise<void>) => {
    await eventually(async () => scene.isUsable());
    scene.machine.isDeaf = byForce.includes(title);
    const reached = Promise.withResolvers<void>();
    const strike = async (isNow: boolean) => {
      if (!isNow) return;
      onAction = scene.onStatus = async () => undefined;
      await attack().then(reached.resolve, reached.reject);
    };
    scene.onStatus = async (status) => strike(isReached(status));
    onAction = async (action) => strike(action === sent[title]);
    scene.wanted = "off";
    if (["waking", "booting", "awake"].includes(title)) {
      await eventually(async () => scene.isAsleep());
      scene.wanted = "on";
    }
    await reached.promise;
  };
  const becomesUsable = async () =>
    eventually(async () => scene.isUsable()).catch(async () =>
      expect.fail(`the node is not used: ${await scene.describe()}`),
    );
  const refreshes = async () => {
    const before = reads;
    await eventually(() => reads > before + 2);
  };

  it.each(steps)(
    "SLP-18 %s: a replaced node with a pod loses no power, is used, and keeps no taint",
    async (title, step) => {
      await reach(title, step, async () => {
        await scene.deleteNode();
        await scene.createNode();
        await scene.createPod("on-new-node");
        actions.length = 0;
        // The machine goes down anyway. The operator wakes it for its pod.
        if (hasLostPower.includes(title)) scene.wanted = "on";
      });
      await becomesUsable();
      await refreshes();
      scene.wanted = "on";
      await becomesUsable();
      expect(actions.filter((action) => action !== "on")).toEqual([]);
    },
  );

  it.each(steps)("SLP-18 %s: the machine of a deleted node does not stay off", async (title, step) => {
    await reach(title, step, async () => {
      await scene.deleteNode();
      scene.wanted = "on";
    });
    await becomesUsable();
    await eventually(() => !scene.machine.isBusy);
    await refreshes();
    await becomesUsable();
    expect(scene.machine.power).toBe("on");
  });
});
