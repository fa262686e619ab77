// The agent's heartbeat shows for the operator that a NodeTwin is current.
import { afterEach, beforeEach, expect, it } from "vitest";
import { operatorConfigMap } from "../../../core/api/index.ts";
import { type ApiRequest, resources } from "../../../platform/kube/index.ts";
import { AgentTestHarness, type AgentUnderTest } from "../testing/agent-test-harness.ts";

let harness: AgentTestHarness;
beforeEach(async () => {
  harness = new AgentTestHarness();
  await harness.user.create(resources.namespaces, { metadata: { name: "joulie-system" } });
  await harness.createNode("a");
});
afterEach(async () => {
  await harness.close();
});

/** Longer than an agent waits with its heartbeat. */
const HEARTBEAT_S = 200;
const eco = { cpu: { packagePowerCapPctOfMax: 60 }, caps: { profile: "eco" } };
const isoIn = (seconds: number): string => new Date(harness.clock.now() + seconds * 1000).toISOString();

/** Publishes a twin as the operator does, with the agent's power and refreshed at `lastUpdated`. */
async function publish(lastUpdated: string, spec: object = eco, source = "agent"): Promise<void> {
  await harness.target("a", { ...spec });
  const status = { schedulableClass: "eco", lastUpdated, powerMeasurement: { source } };
  await harness.operator.apply(resources.nodeTwins, { name: "a" }, { status }, { subresource: "status", force: true });
}

/** Publishes the operator's state. */
async function alive(aliveAt: string): Promise<string> {
  const at = { name: operatorConfigMap, namespace: "joulie-system" };
  await harness.operator.apply(resources.configMaps, at, { data: { aliveAt } }, { force: true });
  return aliveAt;
}

const lastUpdated = async (): Promise<string | undefined> => (await harness.twin()).status?.lastUpdated;

/** Starts an agent, waits for its first reports, and publishes the twin again. */
async function settled(before: () => Promise<unknown>): Promise<AgentUnderTest> {
  const agent = harness.start();
  await harness.target("a", eco);
  await harness.advance(30);
  await before();
  await harness.advance(1);
  agent.takeWrites();
  return agent;
}

it("X-220 the agent's heartbeat sets lastUpdated to the operator's newest time, without a write of its own", async () => {
  const agent = await settled(async () => publish(isoIn(0)));
  const aliveAt = await alive(isoIn(-5));
  await harness.advance(1);
  const newer = await alive(isoIn(20));
  await harness.advance(HEARTBEAT_S);
  expect(await lastUpdated()).toBe(newer);
  expect(newer).not.toBe(aliveAt);
  expect(agent.takeWrites().length).toBeLessThanOrEqual(2);
  expect((await harness.controlStatus())?.cpu).toMatchObject({ result: "applied", observedPowerWatts: 200 });
});

it("X-220 the operator's next write keeps the agent's report, and the agent's next one keeps lastUpdated", async () => {
  await settled(async () => publish(isoIn(0)));
  await alive(isoIn(20));
  await harness.advance(HEARTBEAT_S);
  const own = isoIn(0);
  await publish(own);
  expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
  harness.machine.draw(300);
  await harness.advance(45);
  expect((await harness.controlStatus())?.cpu?.observedPowerWatts).toBeGreaterThan(250);
  expect(await lastUpdated()).toBe(own);
});

/** What the twin and the operator's state say. */
type Publication = () => Promise<unknown>;
const refusals: readonly (readonly [string, Publication, Publication])[] = [
  ["without the operator's state", async () => publish(isoIn(0)), async () => undefined],
  ["older than the twin", async () => publish(isoIn(30)), async () => alive(isoIn(0))],
  ["that is no time", async () => publish(isoIn(0)), async () => alive("soon")],
  ["of a twin without a status", async () => undefined, async () => alive(isoIn(0))],
  [
    "of a twin of an older operator",
    async () => {
      await harness.removeTarget("a");
      await publish(isoIn(0), { cpu: eco.cpu });
    },
    async () => alive(isoIn(30)),
  ],
  [
    "of a twin whose power the operator meters",
    async () => publish(isoIn(0), eco, "kepler"),
    async () => alive(isoIn(30)),
  ],
];

it.each(refusals)("X-220 the agent leaves lastUpdated alone: a time %s", async (_, before, after) => {
  const agent = await settled(before);
  await after();
  await harness.advance(HEARTBEAT_S);
  const bodies = agent.takeWrites().filter(({ path }) => path.includes("nodetwins"));
  expect(bodies.length).toBeGreaterThan(0);
  for (const { body } of bodies) expect(body["status"]).not.toHaveProperty("lastUpdated");
});

it("X-220 an agent whose policy refuses lastUpdated goes on reporting without it", async () => {
  refuseLastUpdated();
  await settled(async () => publish(isoIn(0)));
  await alive(isoIn(20));
  harness.machine.draw(300);
  await harness.advance(60);
  expect((await harness.controlStatus())?.cpu?.observedPowerWatts).toBeGreaterThan(250);
  expect(await lastUpdated()).not.toBe(isoIn(20));
});

/** As the admission policy of a chart before this feature. */
function refuseLastUpdated(): void {
  const original = harness.api.transport.bind(harness.api);
  harness.api.transport = () => {
    const inner = original();
    const refusal = { kind: "Status", status: "Failure", reason: "Forbidden", code: 403, message: "may not" };
    return {
      request: async (request: ApiRequest) =>
        request.method === "PATCH" && request.path.includes("nodetwins") && request.body?.includes("lastUpdated")
          ? { status: 403, headers: {}, body: bytes(JSON.stringify(refusal)) }
          : inner.request(request),
      close: async () => inner.close(),
    };
  };
}

async function* bytes(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text);
}
