import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PowerEndpoint } from "../../../core/api/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import { type KubeObject, resources } from "../../../platform/kube/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { PowerTestHarness } from "../testing/power-test-harness.ts";
import { type RollingTestOptions, type TestOutcome, testWakes } from "./rolling-test.ts";

let harness: PowerTestHarness;
let highest: number;
beforeEach(async () => {
  harness = await PowerTestHarness.begin();
  highest = 0;
});
afterEach(() => {
  if (harness.violations.length > 0) throw new Error(harness.violations.join("; "));
});

const rolling = async (options: Partial<RollingTestOptions> = {}): Promise<readonly TestOutcome[]> =>
  testWakes({
    client: harness.user,
    clock: harness.clock,
    random: seededRandom(1),
    names: undefined,
    again: false,
    concurrency: 5,
    drain: false,
    timeout: milliseconds(45 * 60_000),
    drainTimeout: milliseconds(10 * 60_000),
    signal: new AbortController().signal,
    onProgress: ({ running }) => {
      highest = Math.max(highest, running.size);
    },
    ...options,
  });

/** Lets time pass until the run ends. */
async function ended(run: Promise<readonly TestOutcome[]>): Promise<Readonly<Record<string, string>>> {
  let outcomes: readonly TestOutcome[] | undefined;
  void run.then((all) => (outcomes = all));
  await harness.until(() => outcomes !== undefined, "the end of the tests");
  return Object.fromEntries((outcomes ?? []).map(({ node, result }) => [node, result]));
}
const createNodes = async (count: number): Promise<string[]> => {
  const names = Array.from({ length: count }, (_, index) => `n${index}`);
  for (const name of names) await harness.createNode(name, { proven: false });
  return names;
};
const isProven = async (name: string) =>
  (await harness.user.get<KubeObject & PowerEndpoint>(resources.powerEndpoints, { name })).status?.wakeProven === true;

const cordoned = async (): Promise<readonly string[]> => {
  const { items } = await harness.user.listAll<KubeObject & { spec?: { unschedulable?: boolean } }>(resources.nodes);
  return items.filter(({ spec }) => spec?.unschedulable === true).map(({ metadata }) => metadata.name);
};

describe("testWakes", () => {
  it("SLP-82 proves the wakes of all nodes, a few at a time", async () => {
    const names = await createNodes(25);
    harness.start();
    expect(await ended(rolling())).toEqual(Object.fromEntries(names.map((name) => [name, "proven"])));
    expect(await Promise.all(names.map(isProven))).toEqual(names.map(() => true));
    expect(highest).toBe(2);
  });

  it("SLP-83 leaves out what is proven, unless it is to be tested again", async () => {
    await createNodes(2);
    await harness.createNode("proven");
    harness.start();
    expect(await ended(rolling())).toEqual({ n0: "proven", n1: "proven" });
    expect(await ended(rolling())).toEqual({});
    expect(await ended(rolling({ again: true, names: ["proven"] }))).toEqual({ proven: "proven" });
  });

  it("SLP-82 goes on after a failure, and skips nodes with pods and names without a PowerEndpoint", async () => {
    await createNodes(8);
    await harness.createPod("work", "n1");
    const machine = harness.machines.get("n0");
    if (machine === undefined) throw new Error("no machine");
    machine.neverBoots = true;
    harness.start();
    expect(await ended(rolling({ names: ["n0", "n1", "n2", "other"] }))).toEqual({
      n0: "failed",
      n1: "skipped",
      n2: "proven",
      other: "skipped",
    });
  });

  it("SLP-82 tests no further node of a zone that would be half down", async () => {
    await createNodes(3);
    const machine = harness.machines.get("n0");
    if (machine === undefined) throw new Error("no machine");
    machine.neverBoots = true;
    harness.start();
    expect(await ended(rolling())).toEqual({ n0: "failed", n1: "skipped", n2: "skipped" });
  });

  it("SLP-82 tries a node again on which a pod came right before its test", async () => {
    await createNodes(1);
    harness.start();
    // The listing of candidates shows no pod; the power program counts one.
    const client = harness.user;
    const list = client.listOf.bind(client);
    let hidden = true;
    vi.spyOn(client, "listOf").mockImplementation(async (resource, project, selection, options) => {
      const found = await list(resource, project, selection, options);
      return hidden && resource === resources.pods ? { ...found, items: [] } : found;
    });
    await harness.createPod("late", "n0");
    const run = rolling({ drain: true });
    await harness.until(async () => {
      const { status } = await client.get<KubeObject & PowerEndpoint>(resources.powerEndpoints, { name: "n0" });
      return status?.conditions?.some(({ type, reason }) => type === "Tested" && reason === "TestRefused") === true;
    });
    hidden = false;
    await harness.user.delete(resources.pods, { namespace: "default", name: "late" }, { gracePeriodSeconds: 0 });
    expect(await ended(run)).toEqual({ n0: "proven" });
  });

  it("SLP-82 waits a while for a node that is not Ready, before it leaves it out", async () => {
    await createNodes(1);
    const conditions = [{ type: "Ready", status: "False", lastHeartbeatTime: "2030-01-01T00:00:00Z" }];
    await harness.user.mergePatch(
      resources.nodes,
      { name: "n0" },
      { status: { conditions } },
      { subresource: "status" },
    );
    harness.start();
    const run = rolling();
    await harness.advance(60);
    await harness.machines.get("n0")?.heartbeat();
    expect(await ended(run)).toEqual({ n0: "proven" });
  });

  it("SLP-83 begins no test after an interruption, lets those that run end, and says what is left", async () => {
    await createNodes(4);
    harness.start();
    const stop = new AbortController();
    const run = rolling({ concurrency: 1, signal: stop.signal });
    await harness.until(async () => isProven("n0"));
    stop.abort();
    const outcomes = await ended(run);
    expect(outcomes["n0"]).toBe("proven");
    expect(Object.values(outcomes).filter((result) => result === "skipped").length).toBeGreaterThanOrEqual(2);
    // The next run finishes the work.
    await ended(rolling());
    expect(await Promise.all(["n0", "n1", "n2", "n3"].map(isProven))).toEqual([true, true, true, true]);
  });

  it("SLP-83 uses a node again that an interrupted run has left cordoned", async () => {
    await createNodes(1);
    const metadata = { annotations: { "joulie.io/drained-for-test": "2030-01-01T00:00:00Z" } };
    await harness.user.mergePatch(resources.nodes, { name: "n0" }, { metadata, spec: { unschedulable: true } });
    harness.start();
    await ended(rolling());
    const node = await harness.user.get<KubeObject & { spec?: { unschedulable?: boolean } }>(resources.nodes, {
      name: "n0",
    });
    expect([node.spec?.unschedulable, node.metadata.annotations ?? {}]).toEqual([undefined, {}]);
  });

  it("SLP-82 goes on after an outage of the API server, and leaves nothing cordoned", async () => {
    await createNodes(20);
    const controller = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "1", controller: true };
    for (const name of ["n0", "n1"]) await harness.createPod(`web-${name}`, name, { ownerReferences: [controller] });
    harness.start();
    const run = rolling({ names: ["n0", "n1", "n2"], drain: true });
    await harness.until(async () => (await harness.step("n0")) !== undefined, "the test of n0");
    const end = harness.api.faults.add({ fault: { kind: "refused" } });
    await harness.advance(60);
    end();
    expect(await ended(run)).toEqual({ n0: "proven", n1: "proven", n2: "proven" });
    expect(await cordoned()).toEqual([]);
  });

  it("SLP-82 does not take a node for down whose test ends while the cluster is read", async () => {
    await createNodes(2);
    harness.start();
    const isListOfPods = ({ path }: { readonly path: string }) => decodeURIComponent(path).includes("spec.nodeName!=,");
    harness.api.faults.add({ fault: { kind: "latency", length: milliseconds(20_000) }, when: isListOfPods });
    expect(await ended(rolling())).toEqual({ n0: "proven", n1: "proven" });
  });

  it("SLP-83 goes on with a test that a killed run has begun", async () => {
    await createNodes(3);
    harness.start();
    await harness.requestTest("n1");
    await harness.until(async () => harness.isTainted("n1"), "the test of n1");
    expect(await ended(rolling())).toEqual({ n0: "proven", n1: "proven", n2: "proven" });
    expect(harness.machine("n1").offCalls).toBe(1);
  });
});
