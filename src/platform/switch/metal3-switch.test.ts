import { afterEach, beforeEach, expect, it } from "vitest";
import { instant, milliseconds } from "../../core/units/index.ts";
import { VirtualClock } from "../clock/testing/index.ts";
import { FaultyApi } from "../embedded/testing/index.ts";
import { KubeClient, type KubeObject } from "../kube/index.ts";
import { seededRandom } from "../random/index.ts";
import { Metal3Switch } from "./metal3-switch.ts";
import { bareMetalHostCrd, bareMetalHosts } from "./testing/bare-metal-hosts.ts";

const never = new AbortController().signal;
const confirmed = async (): Promise<void> => undefined;
const clock = new VirtualClock(instant(0));
const at = { namespace: "default", name: "host-1" };
let api: FaultyApi;
let client: KubeClient;
let machine: Metal3Switch;
beforeEach(async () => {
  api = new FaultyApi({ clock, random: seededRandom(1), crds: [bareMetalHostCrd] });
  client = new KubeClient({ transport: api.transport(), clock, random: seededRandom(2), fieldManager: "t" });
  machine = new Metal3Switch({ client, timeout: milliseconds(5000), endpoint: at });
});
afterEach(async () => api.close());
const create = async (spec: object) =>
  client.create(bareMetalHosts, { metadata: { name: at.name }, spec }, { namespace: at.namespace });
const online = async () =>
  (await client.get<KubeObject & { spec: { online: boolean } }>(bareMetalHosts, at)).spec.online;

it("SLP-09 never switches off a BareMetalHost with disablePowerOff", async () => {
  await create({ online: true, disablePowerOff: true });
  for (const act of ["shutdown", "forceOff"] as const)
    await expect(machine[act](never, confirmed)).rejects.toMatchObject({
      kind: "refused",
      code: "JOULIE_E_POWER_REFUSED",
    });
  expect(await online()).toBe(true);
});

it("SLP-27 says before a sleep that disablePowerOff forbids it", async () => {
  await create({ online: true, disablePowerOff: true });
  await machine.state(never);
  expect(machine.facts?.keepsPower).toBe("BareMetalHost default/host-1 has disablePowerOff: true");
  await client.mergePatch(bareMetalHosts, at, { spec: { disablePowerOff: false } });
  await machine.state(never);
  expect(machine.facts?.keepsPower).toBeUndefined();
});

it("SLP-09 changes only spec.online", async () => {
  await create({ online: true, disablePowerOff: false });
  await machine.shutdown(never, confirmed);
  expect((await client.get<KubeObject & { spec: object }>(bareMetalHosts, at)).spec).toEqual({
    online: false,
    disablePowerOff: false,
  });
  await machine.on(never, confirmed);
  expect(await online()).toBe(true);
});

it("reports unknown until Metal3 has read the state", async () => {
  await create({ online: true });
  expect(await machine.state(never)).toBe("unknown");
});

it("SLP-13 does not report a machine as on from which Metal3 still has to take power", async () => {
  await create({ online: true });
  await client.mergePatch(bareMetalHosts, at, { status: { poweredOn: true } }, { subresource: "status" });
  expect(await machine.state(never)).toBe("on");
  await machine.shutdown(never, confirmed);
  expect(await machine.state(never)).toBe("unknown");
  await machine.on(never, confirmed);
  expect(await machine.state(never)).toBe("on");
});

const report = async (status: object) => client.mergePatch(bareMetalHosts, at, { status }, { subresource: "status" });

it.each<[string, object, object]>([
  ["paused", { annotations: { "baremetalhost.metal3.io/paused": "" } }, {}],
  ["detached", { annotations: { "baremetalhost.metal3.io/detached": "" } }, {}],
  ["still detached", {}, { operationalStatus: "detached" }],
  ["about to be rebooted", { annotations: { "reboot.metal3.io": "" } }, {}],
  ["held off by another controller", { annotations: { "reboot.metal3.io/remediation": "" } }, {}],
  ["not registered", {}, { provisioning: { state: "" } }],
  ["deprovisioned", {}, { provisioning: { state: "deprovisioning" } }],
])("X-134 does not take a host for on, and refuses to switch it off, while it is %s", async (_, metadata, status) => {
  await create({ online: true });
  await report({ poweredOn: true, ...status });
  await client.mergePatch(bareMetalHosts, at, { metadata });
  expect(await machine.state(never)).toBe("unknown");
  expect(machine.facts?.held).toMatch(/^BareMetalHost default\/host-1 /);
  for (const act of ["shutdown", "forceOff"] as const)
    await expect(machine[act](never, confirmed)).rejects.toMatchObject({ kind: "refused" });
  expect(await online()).toBe(true);
});

it("X-134 reports off for a machine that another controller holds off", async () => {
  await create({ online: true });
  await report({ poweredOn: false });
  await client.mergePatch(bareMetalHosts, at, { metadata: { annotations: { "reboot.metal3.io/remediation": "" } } });
  expect(await machine.state(never)).toBe("off");
  expect(machine.facts?.held).toBe("BareMetalHost default/host-1 has the annotation reboot.metal3.io/remediation");
});

it("X-134 notices an annotation that comes between reading and writing", async () => {
  await create({ online: true });
  await machine.state(never);
  await client.mergePatch(bareMetalHosts, at, { metadata: { annotations: { "baremetalhost.metal3.io/paused": "" } } });
  await expect(machine.shutdown(never, confirmed)).rejects.toMatchObject({ kind: "refused" });
  expect(await online()).toBe(true);
});

it("X-130 asks for confirmation again before it repeats a change that met a conflict", async () => {
  await create({ online: true });
  await report({ poweredOn: true });
  await machine.state(never);
  let asked = 0;
  const confirm = async () => {
    if (++asked > 1) throw new Error("a pod has been bound");
    await report({ operationalStatus: "OK" });
  };
  await expect(machine.shutdown(never, confirm)).rejects.toThrow("a pod has been bound");
  expect([asked, await online()]).toEqual([2, true]);
});

it("X-134 a change that an admission policy rejects is refused", async () => {
  await create({ online: true });
  await report({ poweredOn: true });
  const heal = api.faults.add({ fault: { kind: "status", code: 422 }, when: ({ method }) => method === "PATCH" });
  await expect(machine.shutdown(never, confirmed)).rejects.toMatchObject({ kind: "refused", status: 422 });
  heal();
});
