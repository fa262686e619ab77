// What agents write for nodes that are new to Joulie.
import { afterEach, beforeEach, expect, it } from "vitest";
import { resources } from "../../../platform/kube/index.ts";
import { AgentTestHarness, type AgentUnderTest } from "../testing/agent-test-harness.ts";

let harness: AgentTestHarness;
beforeEach(() => {
  harness = new AgentTestHarness();
});
afterEach(async () => {
  await harness.close();
});

const full = { profile: "eco", cpu: { packagePowerCapPctOfMax: 100 }, caps: { profile: "performance" } };
const eco = { cpu: { packagePowerCapPctOfMax: 60 }, caps: { profile: "eco" } };
const reportsOf = (agent: AgentUnderTest) =>
  agent
    .takeWrites()
    .filter(({ path }) => path.endsWith("nodetwins/a/status"))
    .map(({ body }) => (body["status"] as { controlStatus: { observedGeneration?: number } }).controlStatus);

it("X-222 an agent announces itself before it lowers the first cap", async () => {
  await harness.createNode("a");
  await harness.target("a", eco);
  const agent = harness.start();
  await harness.advance(2);
  expect(reportsOf(agent).map(({ observedGeneration }) => observedGeneration)).toEqual([0, 1]);
  expect(harness.machine.rapl.writes).not.toEqual([]);
});

it("X-222 an agent whose first target lowers no cap sends its report alone, which announces it", async () => {
  await harness.createNode("a");
  await harness.target("a", full);
  const agent = harness.start();
  await harness.advance(2);
  expect(reportsOf(agent).map(({ observedGeneration }) => observedGeneration)).toEqual([1]);
  await harness.target("a", eco);
  await harness.advance(2);
  expect(reportsOf(agent).map(({ observedGeneration }) => observedGeneration)).toEqual([2]);
  expect(harness.machine.rapl.writes).not.toEqual([]);
});

it("X-222 a pool publishes the first NodeHardware objects at a bounded rate", async () => {
  const names = Array.from({ length: 300 }, (_, index) => `node-${index}`);
  for (const name of names) await harness.createNode(name);
  const published = async () => (await harness.user.listAll(resources.nodeHardwares)).items.length;
  harness.start({ AGENT_MODE: "pool" });
  await harness.advance(21);
  expect(await published()).toBeGreaterThanOrEqual(100);
  expect(await published()).toBeLessThanOrEqual(100 + 8 * 21);
  await harness.advance(60);
  expect(await published()).toBe(names.length);
});

it("a NodeHardware that a user deletes is published again with the next heartbeat", async () => {
  await harness.createNode("a");
  harness.start();
  await harness.until(async () => (await harness.find(resources.nodeHardwares, "a")) !== undefined);
  await harness.user.delete(resources.nodeHardwares, { name: "a" });
  await harness.advance(2400 + 60);
  expect(await harness.find(resources.nodeHardwares, "a")).toBeDefined();
});
