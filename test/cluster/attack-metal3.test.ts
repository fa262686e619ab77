// A machine that Metal3 manages, on a real API server: paused, detached, rebooted, broken, replaced and switched by others.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Condition, PowerEndpointStatus } from "../../src/core/api/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { AttackScene } from "./attack-scene.ts";
import { DETACHED, METAL, PAUSED, REBOOT, ScriptedMetal3 } from "./scripted-metal3.ts";

const endpoints = "/apis/joulie.io/v1alpha1/powerendpoints";
const KEYED = `${REBOOT}/remediation`;
/** Hosts that cannot be switched, beside the one that is attacked. */
const badHosts: Readonly<Record<string, object>> = {
  missing: { metal3: { namespace: METAL, name: "missing" } },
  "no-status": { metal3: { namespace: METAL, name: "no-status" } },
};

describe("a node whose machine Metal3 manages", () => {
  let plane: ControlPlane;
  let scene: AttackScene;
  let metal: ScriptedMetal3;
  beforeAll(async () => {
    plane = await startControlPlane({ controllerManager: true });
    await ScriptedMetal3.install(plane);
    for (const name of ["host-1", "host-2", "no-status"]) await ScriptedMetal3.createHost(plane, name);
    await plane.createNodes(Object.keys(badHosts), { labels: { "joulie.io/may-sleep": "true" } });
    const metal3 = { namespace: METAL, name: "host-1" };
    scene = await AttackScene.open(plane, { metal3 }, { providerID: `metal3://${METAL}/host-1/host-1` });
    metal = new ScriptedMetal3(scene);
    for (const [name, switchSpec] of Object.entries(badHosts))
      await plane.api.create(endpoints, {
        apiVersion: "joulie.io/v1alpha1",
        kind: "PowerEndpoint",
        metadata: { name, annotations: { "joulie.io/keep-awake": "true" } },
        spec: { nodeName: name, ...switchSpec },
      });
    await eventually(async () => (await scene.endpoint()).status?.wakeProven === true).catch(async () =>
      expect.fail(`no wake is proven: ${await scene.describe()}`),
    );
  });
  afterAll(async () => {
    await scene?.close();
    await metal?.close();
    await plane?.stop();
  });

  const until = async (holds: () => Promise<boolean>, what: string) =>
    eventually(holds).catch(async () =>
      expect.fail(`not ${what}: ${await scene.describe()} ${JSON.stringify(await metal.host().catch(String))}`),
    );
  const becomesUsable = async () => until(async () => scene.isUsable(), "used");
  const fallsAsleep = async () => {
    scene.wanted = "off";
    await until(async () => scene.isAsleep(), "asleep");
  };
  const condition = async (type: string): Promise<Condition | undefined> =>
    (await scene.endpoint()).status?.conditions?.find((one) => one.type === type);
  const online = async () => (await metal.host()).spec.online;
  const prove = async () => {
    await plane.api.mergePatch(`${endpoints}/worker`, { metadata: { annotations: { "joulie.io/test-power": "now" } } });
    await until(async () => (await scene.endpoint()).status?.wakeProven === true, "proven");
    await becomesUsable();
  };
  /** Does something right after the power program has written this step, before its next one. */
  const inStep = async (type: string, step: string, happen: () => Promise<void>) => {
    const reached = Promise.withResolvers<void>();
    scene.onStatus = async ({ operation }: PowerEndpointStatus) => {
      if (operation?.type !== type || operation.step !== step) return;
      scene.onStatus = async () => undefined;
      await happen().then(reached.resolve, reached.reject);
    };
    scene.wanted = "off";
    await reached.promise;
  };

  beforeEach(async () => {
    await becomesUsable();
    if ((await scene.endpoint()).status?.wakeProven !== true) await prove();
  });
  afterEach(async () => {
    scene.wanted = "on";
    metal.isBroken = metal.isUnreachable = false;
    scene.onStatus = async () => undefined;
    for (const key of [PAUSED, DETACHED, REBOOT, KEYED]) await metal.annotate(key, null);
    await plane.kubectl(["delete", "pods", "--all", "--force", "--grace-period=0"]);
    await becomesUsable();
    await until(async () => (await online()) === true && metal.lossesUnderPods === 0, "unharmed");
  });

  it.each([PAUSED, DETACHED, KEYED])("X-134 puts no machine to sleep whose host has %s, and says why", async (key) => {
    if (key === KEYED) {
      // Metal3 holds the machine off, which is not Joulie's doing.
      await metal.annotate(key, "");
      await until(async () => scene.machine.power === "off", "held off");
    } else await metal.annotate(key, "test");
    scene.wanted = "off";
    await until(async () => (await condition("Reachable"))?.reason === "Held", "held");
    expect((await condition("Reachable"))?.message).toBe(`BareMetalHost ${METAL}/host-1 has the annotation ${key}`);
    const { status } = await scene.endpoint();
    expect([await online(), status?.operation]).toEqual([true, undefined]);
    await metal.annotate(key, null);
    await until(async () => (await condition("Reachable"))?.reason === "Answered", "answered");
    await until(async () => scene.isAsleep(), "asleep");
  });

  it.each([PAUSED, DETACHED])("X-134 sends no shutdown if the host gets %s at the last moment", async (key) => {
    const wakes = (await scene.endpoint()).status?.lastWake?.at;
    await inStep("sleep", "shutdown", async () => metal.annotate(key, ""));
    await until(async () => (await scene.endpoint()).status?.operation === undefined, "given up");
    const { status } = await scene.endpoint();
    expect([status?.lastSleep?.result, status?.lastWake?.at, status?.wakeProven]).toEqual(["failed", wakes, true]);
    expect([await online(), scene.machine.power]).toEqual([true, "on"]);
  });

  it("X-134 leaves spec.online alone if another controller holds the machine off at the last moment", async () => {
    await inStep("sleep", "shutdown", async () => metal.annotate(KEYED, ""));
    await until(async () => (await scene.endpoint()).status?.operation === undefined, "over");
    expect(await online()).toBe(true);
  });

  it.each([PAUSED, DETACHED])("X-134 takes back a shutdown that Metal3 has not obeyed before %s", async (key) => {
    // Metal3 sees the annotation before it sees spec.online.
    const patch = vi.spyOn(scene.machine, "switchOff").mockResolvedValue();
    scene.wanted = "off";
    await until(async () => (await online()) === false, "sent");
    await metal.annotate(key, "");
    await metal.looked();
    patch.mockRestore();
    scene.wanted = "on";
    await until(async () => (await online()) === true, "taken back");
    await becomesUsable();
    expect(scene.machine.power).toBe("on");
  });

  it.each([PAUSED, DETACHED, KEYED])("X-134 reports no wake as a success while the host has %s", async (key) => {
    await fallsAsleep();
    await metal.annotate(key, "");
    scene.wanted = "on";
    await until(async () => (await scene.endpoint()).status?.operation?.step === "ready", "waking");
    await until(async () => (await condition("Reachable"))?.reason === "Held", "held");
    expect([scene.machine.power, await scene.isUsable()]).toEqual(["off", false]);
    await metal.annotate(key, null);
    await becomesUsable();
    expect(scene.machine.power).toBe("on");
  });

  it("X-134 uses a node again whose BMC fails to switch it off", async () => {
    metal.isBroken = true;
    scene.wanted = "off";
    await until(async () => (await metal.host()).status?.operationalStatus === "error", "broken");
    await until(async () => (await scene.endpoint()).status?.lastSleep?.result === "failed", "given up");
    scene.wanted = "on";
    await becomesUsable();
    expect(scene.machine.power).toBe("on");
  });

  it("X-134 lets no node sleep whose host reports an error", async () => {
    metal.isUnreachable = true;
    await until(async () => (await metal.host()).status?.operationalStatus === "error", "unreachable");
    scene.wanted = "off";
    await until(async () => (await condition("MaySwitchOff"))?.status === "False", "refused");
    expect((await condition("MaySwitchOff"))?.message).toBe(
      `BareMetalHost ${METAL}/host-1 reports provisioned registration error`,
    );
    expect([await online(), scene.machine.power]).toEqual([true, "on"]);
  });

  it.each(["shutdown", "count"])("X-134 uses a node whose host is deleted and re-created in step %s", async (step) => {
    await inStep("sleep", step, async () => {
      await metal.recreate();
      await scene.createPod("late");
      scene.wanted = "on";
    });
    await becomesUsable();
    expect([await online(), scene.machine.power]).toEqual([true, "on"]);
  });

  it("X-134 wakes a machine whose host was deleted and re-created while it was off", async () => {
    await fallsAsleep();
    await metal.annotate(PAUSED, "");
    await metal.recreate();
    scene.wanted = "on";
    await becomesUsable();
    expect(scene.machine.power).toBe("on");
  });

  it("X-134 uses a node that another controller switched on, and wakes one that it switched off, if asked", async () => {
    await fallsAsleep();
    await metal.patch({ spec: { online: true } });
    await until(async () => scene.machine.power === "on", "on");
    scene.wanted = "on";
    await becomesUsable();
    await metal.patch({ spec: { online: false } });
    await until(async () => scene.machine.power === "off", "off");
    const annotation = "joulie.io/keep-awake";
    await plane.api.mergePatch(`${endpoints}/worker`, { metadata: { annotations: { [annotation]: "true" } } });
    await becomesUsable();
    await plane.api.mergePatch(`${endpoints}/worker`, { metadata: { annotations: { [annotation]: null } } });
    expect(scene.machine.power).toBe("on");
  });

  it("SLP-26 switches no host that the provider ID of the node does not name", async () => {
    const point = async (name: string) =>
      plane.api.mergePatch(`${endpoints}/worker`, {
        metadata: { annotations: { "joulie.io/test-power": "now" } },
        spec: { metal3: { namespace: METAL, name } },
      });
    await point("host-2");
    await until(async () => (await condition("SameMachine"))?.status === "False", "refused");
    expect((await condition("SameMachine"))?.reason).toBe("DifferentProviderID");
    expect((await metal.host("host-2")).spec.online).toBe(true);
    // The power program removes the first request after it has refused it.
    await until(
      async () => (await scene.endpoint()).metadata.annotations?.["joulie.io/test-power"] === undefined,
      "answered",
    );
    await until(async () => {
      const { metadata, status } = await scene.endpoint();
      if (status?.wakeProven === true) return true;
      // The power program may take a request that comes this soon for the one that it has just answered.
      if (metadata.annotations?.["joulie.io/test-power"] === undefined) await point("host-1");
      return false;
    }, "proven");
  });

  it("SLP-26 switches no host that another machine uses", async () => {
    await metal.useFor("other");
    scene.wanted = "off";
    await until(async () => (await condition("SameMachine"))?.status === "False", "refused");
    expect([await online(), scene.machine.power]).toEqual([true, "on"]);
    await metal.useFor("host-1");
    await until(async () => (await condition("SameMachine"))?.status === "True", "accepted");
  });

  it("X-134 reports each bad host by itself", async () => {
    for (const name of Object.keys(badHosts)) {
      const { status } = await plane.api.get<{ status?: PowerEndpointStatus }>(`${endpoints}/${name}`);
      expect([name, status?.conditions?.some(({ type }) => type === "Reachable")]).toEqual([name, true]);
    }
  });
});
