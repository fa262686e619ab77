import { afterEach, beforeEach, expect, it } from "vitest";
import { annotations, operatorConfigMap } from "../../../core/api/index.ts";
import { type KubeObject, resources } from "../../../platform/kube/index.ts";
import { OperatorTestHarness } from "../testing/test-harness.ts";

let harness: OperatorTestHarness;
beforeEach(async () => {
  harness = await OperatorTestHarness.begin();
  await harness.createNode("a");
  await harness.createNode("b");
});
afterEach(async () => {
  await harness.end();
});

const at = { name: operatorConfigMap, namespace: "joulie-system" };
const usual = { TWIN_STALENESS_THRESHOLD: "5m" };

async function aliveAt(): Promise<string | undefined> {
  try {
    const { data } = await harness.user.get<KubeObject & { data?: { aliveAt?: string } }>(resources.configMaps, at);
    return data?.aliveAt;
  } catch {
    return undefined;
  }
}

/** Does what the agents' heartbeats do. */
async function refresh(...names: readonly string[]): Promise<void> {
  const lastUpdated = await aliveAt();
  for (const name of names)
    await harness.agent.mergePatch(
      resources.nodeTwins,
      { name },
      { status: { lastUpdated } },
      { subresource: "status" },
    );
}

const ageOf = async (time: string | undefined) => (harness.clock.now() - Date.parse(time ?? "")) / 1000;
const heartbeatsOf = (writes: readonly { readonly path: string }[], name: string) =>
  writes.filter(({ path }) => path.includes(`/nodetwins/${name}/status`)).length;

it("X-221 the operator publishes once a minute that all twins are as decided", async () => {
  const operator = harness.start(usual);
  await harness.advance(30);
  expect(await ageOf(await aliveAt())).toBeLessThan(30);
  operator.writes.splice(0);
  await harness.advance(600);
  const published = operator.writes.filter(({ path }) => path.includes(operatorConfigMap));
  expect(published.length).toBeGreaterThanOrEqual(9);
  expect(published.length).toBeLessThanOrEqual(10);
  expect(await ageOf(await aliveAt())).toBeLessThan(70);
});

it("X-224 the operator publishes the settings that extenders need, also before all twins are written", async () => {
  harness.intercept(async (request, go) => {
    if (request.path.includes("/nodetwins/a")) throw new Error("refused");
    return go();
  });
  harness.start({ ...usual, POWER_PROFILE_LABEL: "site.example/profile" });
  await harness.advance(120);
  const { data } = await harness.user.get<KubeObject & { data?: Record<string, string> }>(resources.configMaps, at);
  expect(data).toEqual({
    POWER_PROFILE_LABEL: "site.example/profile",
    DRAINING_LABEL: "joulie.io/draining",
    TWIN_STALENESS_THRESHOLD: "5m",
    SLEEP_MODE: "off",
  });
});

it("X-220 twins that agents refresh get no heartbeat of the operator, and the others do", async () => {
  const operator = harness.start(usual);
  await harness.advance(30);
  operator.written();
  for (let passed = 0; passed < 1800; passed += 180) {
    await refresh("a");
    await harness.advance(180);
    expect(await ageOf((await harness.twin("a")).status?.lastUpdated)).toBeLessThan(300);
    expect(await ageOf((await harness.twin("b")).status?.lastUpdated)).toBeLessThan(300);
  }
  const writes = operator.written();
  expect(heartbeatsOf(writes, "a")).toBe(0);
  expect(heartbeatsOf(writes, "b")).toBeGreaterThanOrEqual(7);
});

it("X-220 the operator refreshes the twin of an agent that has died before extenders take it for stale", async () => {
  const operator = harness.start(usual);
  await harness.advance(30);
  await refresh("a", "b");
  operator.written();
  await harness.advance(280);
  for (const name of ["a", "b"]) {
    expect(heartbeatsOf(operator.written(), name)).toBeLessThanOrEqual(1);
    expect(await ageOf((await harness.twin(name)).status?.lastUpdated)).toBeLessThan(60);
  }
});

it("X-221 a write that keeps failing stops the publication, and its success resumes it", async () => {
  let refuses = false;
  harness.intercept(async (request, go) => {
    if (refuses && request.path.includes("/nodetwins/a")) throw new Error("refused");
    return go();
  });
  harness.start({ ...usual, STATIC_HP_FRAC: "0" });
  await harness.advance(60);
  refuses = true;
  await harness.label("a", { "joulie.io/rack": "r1", "joulie.io/managed": "true" });
  await harness.pin("a", { profile: "performance" });
  await harness.advance(90);
  const stopped = await aliveAt();
  await harness.advance(120);
  expect(await aliveAt()).toBe(stopped);
  refuses = false;
  await harness.advance(200);
  expect(await ageOf(await aliveAt())).toBeLessThan(70);
});

it("X-221 a stopped installation publishes nothing", async () => {
  harness.start(usual);
  await harness.advance(30);
  await harness.user.mergePatch(
    resources.namespaces,
    { name: "joulie-system" },
    { metadata: { annotations: { [annotations.stop]: "true" } } },
  );
  await harness.advance(10);
  const last = await aliveAt();
  await harness.advance(180);
  expect(await aliveAt()).toBe(last);
});

it("X-221 a new leader publishes, and refreshes the twins that agents refreshed for the last one in time", async () => {
  const first = harness.start(usual);
  await harness.advance(30);
  await refresh("a", "b");
  await first.stop();
  const before = await aliveAt();
  harness.start(usual);
  await harness.advance(90);
  expect(await aliveAt()).not.toBe(before);
  await harness.advance(180);
  for (const name of ["a", "b"]) expect(await ageOf((await harness.twin(name)).status?.lastUpdated)).toBeLessThan(235);
});

it("X-220 without the right to publish, the operator refreshes all twins itself", async () => {
  harness.intercept(async (request, go) => {
    if (request.path.includes("configmaps")) throw new Error("refused");
    return go();
  });
  const operator = harness.start(usual);
  await harness.advance(900);
  for (const name of ["a", "b"]) expect(await ageOf((await harness.twin(name)).status?.lastUpdated)).toBeLessThan(235);
  const warnings = operator.logs.filter(({ msg }) => msg.includes("state is not written"));
  expect(warnings).toHaveLength(1);
});

it("X-221 while nothing is published, twins of one age are refreshed one after the other", async () => {
  const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
  for (const name of names) await harness.createNode(name);
  let refuses = false;
  harness.intercept(async (request, go) => {
    if (refuses && request.path.includes("/nodetwins/a")) throw new Error("refused");
    return go();
  });
  const operator = harness.start({ ...usual, STATIC_HP_FRAC: "0" });
  await harness.advance(60);
  await refresh(...names);
  refuses = true;
  await harness.pin("a", { profile: "performance" });
  operator.written();
  const perCheck: number[] = [];
  for (let passed = 0; passed < 280; passed += 5) {
    await harness.advance(5);
    perCheck.push(operator.written().filter(({ path }) => /\/nodetwins\/n\d+\/status/.test(path)).length);
  }
  expect(perCheck.reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(40);
  expect(Math.max(...perCheck)).toBeLessThan(10);
});
