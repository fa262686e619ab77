import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KubeObject, resources } from "../../src/platform/kube/index.ts";
import { bareMetalHostCrd, bareMetalHosts } from "../../src/platform/power/testing/bare-metal-hosts.ts";
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

  it("SLP-13 lets Metal3 take no power later from a node that it did not switch off in time", async () => {
    const machine = await harness.createNode("a");
    const spec = { webhook: null, metal3: at };
    await harness.user.mergePatch(resources.powerEndpoints, { name: "a" }, { spec });
    await harness.user.create(bareMetalHosts, { metadata: { name: at.name }, spec: { online: true } }, at);
    const status = { poweredOn: true };
    await harness.user.mergePatch(bareMetalHosts, at, { status }, { subresource: "status" });
    harness.start({ SHUTDOWN_TIMEOUT: "1m" }, { realSwitches: true });
    await harness.want("a", "off");
    await harness.until(async () => !(await isOnline()));
    await harness.untilPower("a", "waking");
    await harness.want("a", "on");
    await harness.until(async () => {
      await machine.heartbeat();
      return (await harness.power("a")) === "on";
    });
    expect([await isOnline(), await harness.isTainted("a")]).toEqual([true, false]);
  });
});
