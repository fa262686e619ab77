import { afterEach, describe, expect, it } from "vitest";
import { type ApiRequest, resources } from "../../platform/kube/index.ts";
import { FleetTestHarness } from "./testing/fleet-test-harness.ts";

const harnesses: FleetTestHarness[] = [];
const made = (beside?: FleetTestHarness): FleetTestHarness => {
  const harness = new FleetTestHarness(beside);
  harnesses.push(harness);
  return harness;
};
afterEach(async () => {
  harnesses[0]?.api.faults.clear();
  for (const harness of harnesses.splice(0)) await harness.end();
});

const DAY = { WORKLOAD: "day", MAX_PODS: "30" };
const uidsOf = async (harness: FleetTestHarness) =>
  new Set([...(await harness.pods()), ...(await harness.nodes())].map(({ metadata }) => metadata.uid));
const isDelete = (kind: string) => (request: ApiRequest) =>
  request.method === "DELETE" && request.path.includes(`/${kind}/`);
const names = (name: string, method: string) => (request: ApiRequest) =>
  request.method === method && `${request.path} ${request.body ?? ""}`.includes(name);

describe("two fleets", () => {
  it("keeps the other fleet's objects when it cannot start because the address is taken", async () => {
    const first = made();
    await first.start(DAY);
    await first.until(async () => (await first.pods()).length === 30);
    const before = await uidsOf(first);
    const second = made(first);
    const taken = { ...DAY, SIMULATOR_ADDR: new URL(first.simulator.url).host };
    await expect(second.serve(taken)).rejects.toThrow("another program uses this address");
    harnesses.pop();
    expect(await uidsOf(first)).toEqual(before);
  });

  it("removes only its own objects when two fleets share a cluster", async () => {
    const first = made();
    await first.start(DAY);
    const second = made(first);
    await second.start({ ...DAY, NODE_PREFIX: "other" });
    await first.until(async () => (await first.pods()).length === 60);
    await second.end();
    const [nodes, pods] = [await first.nodes(), await first.pods()];
    expect(nodes.map(({ metadata }) => metadata.name.slice(0, 4))).toEqual(nodes.map(() => "sim-"));
    expect(pods).toHaveLength(30);
    expect(new Set(pods.map(({ metadata }) => metadata.labels?.["sim.joulie.io/submitter"]))).toEqual(new Set(["sim"]));
  });
});

describe("cleanUp", () => {
  it("continues after failed calls", async () => {
    const harness = made();
    await harness.start(DAY);
    await harness.until(async () => (await harness.pods()).length === 30);
    harness.api.faults.add({ when: isDelete("pods"), fault: { kind: "status", code: 500 }, times: 40 });
    harness.api.faults.add({ when: isDelete("nodes"), fault: { kind: "status", code: 409 }, times: 1 });
    harness.api.faults.add({ when: isDelete("nodes"), fault: { kind: "status", code: 500 }, times: 120 });
    await harness.end();
    expect(await harness.pods()).toEqual([]);
    expect(harness.log).not.toContain("are left");
  });

  // A forbidden delete is permanent, so cleanup does not retry it.
  it.each([
    [500, 30],
    [403, 5],
  ])("deletes the nodes although deleting pods fails with %i, and logs it", async (code, limit) => {
    const harness = made();
    await harness.start(DAY);
    await harness.until(async () => (await harness.pods()).length === 30);
    harness.api.faults.add({ when: isDelete("pods"), fault: { kind: "status", code } });
    const begun = harness.ioClock.monotonic();
    await harness.end();
    expect(await harness.nodes()).toEqual([]);
    expect(await harness.pods()).toHaveLength(30);
    expect(harness.log).toContain('"failures":30');
    expect(harness.ioClock.monotonic() - begun).toBeLessThan(1000 * limit);
  });

  it("finds nodes without a lease, and a node whose creation was never confirmed", async () => {
    const harness = made();
    harness.api.faults.add({ when: names("sim-005", "POST"), fault: { kind: "torn", afterBytes: 5 } });
    harness.api.faults.add({ when: names("sim-005", "GET"), fault: { kind: "status", code: 500 } });
    const isLease = (request: ApiRequest) => request.path.includes("/leases") && names("sim-006", "POST")(request);
    harness.api.faults.add({ when: isLease, fault: { kind: "status", code: 500 } });
    await harness.serve({});
    await harness.until(async () => (await harness.nodes()).length === 20);
    await expect(fetch(`${harness.simulator.metricsUrl}/readyz`).then(async (page) => page.text())).resolves.toContain(
      "of 20",
    );
    harness.api.faults.clear();
    await harness.end();
    expect(await harness.nodes()).toEqual([]);
  });

  it("keeps a node that another client has created in the meantime", async () => {
    const harness = made();
    await harness.start({});
    await harness.hand.delete(resources.nodes, { name: "sim-003" });
    await harness.hand.create(resources.nodes, { metadata: { name: "sim-003" } });
    await harness.end();
    expect((await harness.nodes()).map(({ metadata }) => metadata.name)).toEqual(["sim-003"]);
  });
});
