import { afterEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../../platform/clock/index.ts";
import { resources } from "../../../platform/kube/index.ts";
import { RedfishSwitch } from "../../../platform/switch/index.ts";
import { FleetTestHarness } from "../testing/fleet-test-harness.ts";

let harness: FleetTestHarness;
afterEach(async () => harness.end());

const SLEEPS = { SLEEP: "true", BOOT_TIME: "2m", SHUTDOWN_TIME: "30s", FAILED_BOOTS: "0", NODES: "4" };
const { signal } = new AbortController();
const confirmed = async (): Promise<void> => undefined;
const NODE = "sim-001";

const bmc = (systemId = NODE, credentials?: { readonly username: string; readonly password: string }) =>
  new RedfishSwitch({
    clock: systemClock,
    timeout: milliseconds(5000),
    endpoint: { address: harness.simulator.url, systemId, insecureSkipVerify: true },
    credentials,
  });
const press = async (action: "on" | "shutdown" | "forceOff", node = NODE) => {
  const machine = bmc(node);
  await machine[action](signal, confirmed);
  await machine.close();
};
const stateOf = async (node = NODE) => {
  const machine = bmc(node);
  const state = await machine.state(signal);
  await machine.close();
  return state;
};
const ask = async (path: string, init: RequestInit = {}) => {
  const answer = await fetch(`${harness.simulator.url}${path}`, init);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};
const readyOf = async (name = NODE) => {
  const node = (await harness.nodes()).find(({ metadata }) => metadata.name === name);
  const conditions = node?.status?.["conditions"] as { readonly type: string; readonly status: string }[];
  return conditions.find(({ type }) => type === "Ready")?.status;
};
const renewedAt = async (name = NODE) => {
  const lease = await harness.hand.get(resources.leases, { name, namespace: "kube-node-lease" });
  return (lease as unknown as { readonly spec: { readonly renewTime: string } }).spec.renewTime;
};
const machine = (name = NODE) => {
  const found = harness.simulator.datacenter.machine(name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
};

describe("a simulated node over Redfish", () => {
  it("SLP-60 shuts down, stays off and boots, with its heartbeats, telemetry and watts", async () => {
    harness = await FleetTestHarness.begin(SLEEPS);
    const idle = machine().physics.wallWatts;
    expect(await stateOf()).toBe("on");
    await press("shutdown");
    await harness.pass(2);
    expect([machine().power, await stateOf(), await readyOf()]).toEqual(["stopping", "on", "False"]);
    expect((await ask(`/telemetry/${NODE}`)).status).toBe(503);
    await harness.pass(30);
    expect([machine().power, await stateOf()]).toEqual(["off", "off"]);
    expect(machine().physics.wallWatts).toBeLessThan(idle / 4);
    const renewed = await renewedAt();
    await harness.pass(60);
    expect(await renewedAt()).toBe(renewed);
    expect(await readyOf()).toBe("False");
    expect((await ask(`/control/${NODE}`, { method: "POST", body: "{}" })).status).toBe(503);
    expect(machine().watts).toBe(0);
    await press("on");
    await harness.pass(60);
    expect([machine().power, await stateOf(), await readyOf()]).toEqual(["waking", "on", "False"]);
    expect(machine().physics.wallWatts).toBeGreaterThan(idle);
    await harness.pass(62);
    expect([machine().power, await readyOf()]).toEqual(["on", "True"]);
    expect(machine().physics.wallWatts).toBe(idle);
    await harness.pass(20);
    expect(await renewedAt()).not.toBe(renewed);
    expect((await ask(`/telemetry/${NODE}`)).status).toBe(200);
    expect(await stateOf("sim-002")).toBe("on");
    expect(await readyOf("sim-002")).toBe("True");
  });

  it("SLP-60 loses its pods and caps with its power, and starts bound pods again when it is back", async () => {
    harness = await FleetTestHarness.begin(SLEEPS);
    const work = { annotations: { "sim.joulie.io/work-seconds": "600" } };
    await harness.createPod("job", NODE, work);
    await harness.until(async () => (await harness.pod("job"))?.status?.phase === "Running");
    await ask(`/control/${NODE}`, {
      method: "POST",
      body: JSON.stringify({ node: NODE, action: "rapl.set_power_cap_watts", capWatts: 200 }),
    });
    expect(machine().physics.caps.cpuWattsPerPackage).toBeGreaterThan(0);
    await press("forceOff");
    await harness.pass(5);
    expect([machine().power, machine().physics.jobCount, machine().physics.caps]).toEqual(["off", 0, {}]);
    await harness.createPod("late", NODE, work);
    await harness.pass(5);
    expect((await harness.pod("late"))?.status?.phase ?? "Pending").toBe("Pending");
    await press("on");
    await harness.pass(125);
    expect(machine().physics.jobCount).toBe(2);
    await harness.until(async () => (await harness.pod("late"))?.status?.phase === "Running");
    await harness.pass(620);
    expect((await harness.pod("job"))?.status?.phase).toBe("Succeeded");
  });

  it("SLP-60 hangs after a failed boot until its power is cut", async () => {
    harness = await FleetTestHarness.begin({ ...SLEEPS, FAILED_BOOTS: "1" });
    await press("forceOff");
    await press("on");
    await harness.pass(125);
    expect([machine().power, await stateOf()]).toEqual(["failed", "on"]);
    await press("shutdown");
    await harness.pass(60);
    expect(await stateOf()).toBe("on");
    await press("forceOff");
    expect(await stateOf()).toBe("off");
  });

  it("SLP-60 creates its Node again only after it has booted, if the Node was deleted while it was off", async () => {
    harness = await FleetTestHarness.begin(SLEEPS);
    await press("forceOff");
    await harness.hand.delete(resources.nodes, { name: NODE });
    await harness.pass(60);
    expect((await harness.nodes()).map(({ metadata }) => metadata.name)).not.toContain(NODE);
    await press("on");
    await harness.pass(125);
    expect(await readyOf()).toBe("True");
  });

  it("SLP-60 asks for a password if one is set, and answers hostile requests with errors", async () => {
    harness = await FleetTestHarness.begin({ ...SLEEPS, REDFISH_PASSWORD: "pa55", REDFISH_SECRET: "bmc" });
    expect((await ask("/redfish/v1/")).status).toBe(200);
    expect((await ask("/redfish/v1/Systems")).status).toBe(401);
    await expect(stateOf()).rejects.toThrow("credentials");
    const machine = bmc(NODE, { username: "joulie", password: "pa55" });
    expect(await machine.state(signal)).toBe("on");
    await machine.close();
    const headers = { authorization: `Basic ${Buffer.from("joulie:pa55").toString("base64")}` };
    const reset = `/redfish/v1/Systems/${NODE}/Actions/ComputerSystem.Reset`;
    for (const body of ["", "{", "[]", '{"ResetType":"Nmi"}', '{"ResetType":"__proto__"}', "null"])
      expect((await ask(reset, { method: "POST", body, headers })).status).toBe(400);
    for (const path of [
      "/redfish/v1/Systems/unknown",
      "/redfish/v1/Systems/%",
      "/redfish/v1/Chassis",
      "/redfish/v1/Systems/a/b",
    ])
      expect((await ask(path, { headers })).status).toBe(404);
    expect((await ask(reset, { headers })).status).toBe(404);
    expect((await ask("/redfish/v1/Systems", { method: "POST", headers })).status).toBe(404);
    const [endpoint] = (await harness.hand.listAll(resources.powerEndpoints)).items;
    expect(endpoint).toMatchObject({ spec: { redfish: { credentialsSecretRef: { name: "bmc" } } } });
  });

  it("SLP-60 is absent without --sleep", async () => {
    harness = await FleetTestHarness.begin({ NODES: "2" });
    expect((await ask("/redfish/v1/")).status).toBe(404);
    expect((await harness.hand.listAll(resources.powerEndpoints)).items).toEqual([]);
    expect((await harness.nodes())[0]?.metadata.labels?.["joulie.io/may-sleep"]).toBeUndefined();
  });
});

describe("PowerEndpoints of simulated nodes", () => {
  it("SLP-61 name the node's system, and are deleted on exit", async () => {
    harness = await FleetTestHarness.begin({ ...SLEEPS, REDFISH_ADDRESS: "http://fleet.test:9878" });
    await harness.until(async () => (await harness.hand.listAll(resources.powerEndpoints)).items.length === 4);
    const endpoint = await harness.hand.get(resources.powerEndpoints, { name: NODE });
    expect(endpoint).toMatchObject({
      spec: {
        nodeName: NODE,
        redfish: { address: "http://fleet.test:9878", systemId: NODE, insecureSkipVerify: true },
      },
    });
    expect((await harness.nodes())[0]?.metadata.labels?.["joulie.io/may-sleep"]).toBe("true");
    await harness.end();
    expect((await harness.hand.listAll(resources.powerEndpoints)).items).toEqual([]);
  });

  it("SLP-61 ask for a proof where there is none, and jobs wait for it", async () => {
    harness = await FleetTestHarness.begin({ ...SLEEPS, PROVE_WAKES: "true", WORKLOAD: "day" });
    const annotated = async () =>
      (await harness.hand.listAll(resources.powerEndpoints)).items.filter(
        ({ metadata }) => metadata.annotations?.["joulie.io/test-power"] !== undefined,
      );
    await harness.until(async () => (await annotated()).length === 4);
    await harness.pass(30);
    expect(harness.simulator.jobs.submitted).toBe(0);
    const patch = { metadata: { annotations: { "joulie.io/test-power": null } } };
    for (const { metadata } of await annotated())
      await harness.hand.mergePatch(resources.powerEndpoints, { name: metadata.name }, patch);
    await harness.until(() => harness.simulator.jobs.submitted > 0);
  });
});
