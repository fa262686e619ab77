import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KubeObject, resources } from "../../src/platform/kube/index.ts";
import { bareMetalHostCrd, bareMetalHosts } from "../../src/platform/switch/testing/bare-metal-hosts.ts";
import { PowerTestHarness } from "../../src/programs/power/testing/power-test-harness.ts";

describe("joulie power and Metal3", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin([bareMetalHostCrd]);
  });
  afterEach(async () => harness.end());

  const at = { namespace: "default", name: "host" };
  const isOnline = async () =>
    (await harness.user.get<KubeObject & { spec: { online: boolean } }>(bareMetalHosts, at)).spec.online;

  const poweredOn = async (value: boolean) =>
    harness.user.mergePatch(bareMetalHosts, at, { status: { poweredOn: value } }, { subresource: "status" });
  /** A node whose machine is on. */
  const createNode = async () => {
    const machine = await harness.createNode("a");
    const spec = { webhook: null, metal3: at };
    await harness.user.mergePatch(resources.powerEndpoints, { name: "a" }, { spec });
    await harness.user.create(bareMetalHosts, { metadata: { name: at.name }, spec: { online: true } }, at);
    await poweredOn(true);
    return machine;
  };
  const untilOnline = async (value: boolean) => harness.until(async () => (await isOnline()) === value);

  it("SLP-13 lets Metal3 take no power later from a node that it did not switch off in time", async () => {
    const machine = await createNode();
    harness.start({ SHUTDOWN_TIMEOUT: "1m" }, { realSwitches: true });
    await harness.want("a", "off");
    await untilOnline(false);
    await harness.untilPower("a", "waking");
    await harness.want("a", "on");
    await harness.until(async () => {
      await machine.heartbeat();
      return (await harness.power("a")) === "on";
    });
    expect([await isOnline(), await harness.isTainted("a")]).toEqual([true, false]);
  });

  /** Metal3 has switched the node off and on again, but the node does not boot. */
  const untilRetry = async () => {
    await createNode();
    harness.start({ WAKE_TIMEOUT: "20m" }, { realSwitches: true });
    await harness.want("a", "off");
    await untilOnline(false);
    await poweredOn(false);
    await harness.untilPower("a", "off");
    await harness.want("a", "on");
    await untilOnline(true);
    await poweredOn(true);
    await untilOnline(false);
    expect((await harness.endpoint("a")).status?.operation).toMatchObject({ type: "wake", attempt: 2 });
  };

  it("SLP-14 retries a wake with a power cycle: switches on only after Metal3 has cut the power", async () => {
    await untilRetry();
    await harness.advance(120);
    expect(await isOnline()).toBe(false);
    await poweredOn(false);
    await harness.advance(20);
    expect(await isOnline()).toBe(true);
  });

  it("SLP-14 switches on in the retry although Metal3 does not cut the power in time", async () => {
    await untilRetry();
    await harness.advance(400);
    expect(await isOnline()).toBe(true);
  });
});
