import { afterEach, describe, expect, it } from "vitest";
import { type ApiRequest, resources } from "../../platform/kube/index.ts";
import { FleetTestHarness } from "./testing/fleet-test-harness.ts";

const trials: FleetTestHarness[] = [];
const made = (beside?: FleetTestHarness): FleetTestHarness => {
  const trial = new FleetTestHarness(beside);
  trials.push(trial);
  return trial;
};
afterEach(async () => {
  trials[0]?.api.faults.clear();
  for (const trial of trials.splice(0)) await trial.end();
});

const DAY = { WORKLOAD: "day", MAX_PODS: "30" };
const uidsOf = async (trial: FleetTestHarness) =>
  new Set([...(await trial.pods()), ...(await trial.nodes())].map(({ metadata }) => metadata.uid));
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
    trials.pop();
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
    const trial = made();
    await trial.start(DAY);
    await trial.until(async () => (await trial.pods()).length === 30);
    trial.api.faults.add({ when: isDelete("pods"), fault: { kind: "status", code: 500 }, times: 40 });
    trial.api.faults.add({ when: isDelete("nodes"), fault: { kind: "status", code: 409 }, times: 1 });
    trial.api.faults.add({ when: isDelete("nodes"), fault: { kind: "status", code: 500 }, times: 120 });
    await trial.end();
    expect(await trial.pods()).toEqual([]);
    expect(trial.log).not.toContain("are left");
  });

  // A forbidden delete is permanent, so cleanup does not retry it.
  it.each([
    [500, 30],
    [403, 5],
  ])("deletes the nodes although deleting pods fails with %i, and logs it", async (code, limit) => {
    const trial = made();
    await trial.start(DAY);
    await trial.until(async () => (await trial.pods()).length === 30);
    trial.api.faults.add({ when: isDelete("pods"), fault: { kind: "status", code } });
    const begun = trial.ioClock.monotonic();
    await trial.end();
    expect(await trial.nodes()).toEqual([]);
    expect(await trial.pods()).toHaveLength(30);
    expect(trial.log).toContain('"failures":30');
    expect(trial.ioClock.monotonic() - begun).toBeLessThan(1000 * limit);
  });

  it("finds nodes without a lease, and a node whose creation was never confirmed", async () => {
    const trial = made();
    trial.api.faults.add({ when: names("sim-005", "POST"), fault: { kind: "torn", afterBytes: 5 } });
    trial.api.faults.add({ when: names("sim-005", "GET"), fault: { kind: "status", code: 500 } });
    const isLease = (request: ApiRequest) => request.path.includes("/leases") && names("sim-006", "POST")(request);
    trial.api.faults.add({ when: isLease, fault: { kind: "status", code: 500 } });
    await trial.serve({});
    await trial.until(async () => (await trial.nodes()).length === 20);
    await expect(fetch(`${trial.simulator.url}/readyz`).then(async (page) => page.text())).resolves.toContain("of 20");
    trial.api.faults.clear();
    await trial.end();
    expect(await trial.nodes()).toEqual([]);
  });

  it("keeps a node that another client has created in the meantime", async () => {
    const trial = made();
    await trial.start({});
    await trial.hand.delete(resources.nodes, { name: "sim-003" });
    await trial.hand.create(resources.nodes, { metadata: { name: "sim-003" } });
    await trial.end();
    expect((await trial.nodes()).map(({ metadata }) => metadata.name)).toEqual(["sim-003"]);
  });
});
