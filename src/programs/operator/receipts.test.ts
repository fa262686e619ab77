// A promoted node is published as performance only after its agent has raised the caps.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { NodeTwin } from "../../core/api/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { OperatorTestHarness, performancePod } from "./testing/test-harness.ts";

const policy = { POLICY_TYPE: "fit_aware_v1", FIT_RESERVE: "0" };
const NODES = ["a", "b"];
const ECO = { spec: "eco", class: "eco", labels: "eco false", cap: 60 };
const WAITING = { spec: "performance", class: "eco", labels: "eco false", cap: 100 };
const PERFORMANCE = { spec: "performance", class: "performance", labels: "performance false", cap: 100 };

type ControlStatus = NonNullable<NonNullable<NodeTwin["status"]>["controlStatus"]>;

describe("receipts of agents", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    for (const name of NODES) await harness.createNode(name);
  });
  afterEach(async () => harness.end());

  /** Reports as an agent that has carried out the present target. */
  async function report(name: string, own: Partial<ControlStatus> = {}): Promise<void> {
    const { metadata } = await harness.twin(name);
    const cpu = { backend: "rapl", result: "applied" as const, updatedAt: new Date(harness.clock.now()).toISOString() };
    const controlStatus = { observedGeneration: metadata.generation, cpu, ...own };
    await harness.agent.apply(
      resources.nodeTwins,
      { name },
      { status: { controlStatus } },
      { subresource: "status", force: true },
    );
  }

  /** Starts with eco nodes whose agents have confirmed that. */
  async function begin(): Promise<void> {
    harness.start(policy);
    await harness.advance(15);
    for (const name of NODES) await report(name);
    expect(await harness.shown("a")).toEqual(ECO);
  }
  const pending = async (name: string) => harness.createPod(name, undefined, performancePod);
  const eventsOf = async (reason: string) =>
    (await harness.events()).filter((event) => event.reason === reason).map(({ regarding }) => regarding.name);

  it("X-120 POL-33 publishes performance only when the agent, 5 s late, has raised the caps", async () => {
    await begin();
    await pending("urgent");
    await harness.advance(5);
    expect(await harness.shown("a")).toEqual(WAITING);
    await report("a");
    await harness.advance(0.5);
    expect(await harness.shown("a")).toEqual(PERFORMANCE);
  });

  it("X-120 counts a promoted node that is not confirmed yet and promotes no second one", async () => {
    await begin();
    await pending("urgent");
    await harness.advance(50);
    expect(await harness.shown("a")).toEqual(WAITING);
    expect(await harness.shown("b")).toEqual(ECO);
  });

  it("X-120 a receipt of the eco target does not confirm the raised caps", async () => {
    await begin();
    const { generation = 0 } = (await harness.twin("a")).metadata;
    await pending("urgent");
    await harness.advance(2);
    await report("a", { observedGeneration: generation });
    await harness.advance(2);
    expect(await harness.shown("a")).toEqual(WAITING);
  });

  it.each(["error", "blocked"] as const)(
    "X-120 a GPU whose caps are not raised (%s) keeps the node eco",
    async (result) => {
      await begin();
      await pending("urgent");
      await harness.advance(2);
      await report("a", { gpu: { result } });
      await harness.advance(2);
      expect(await harness.shown("a")).toEqual(WAITING);
      await report("a", { gpu: { result: "none" } });
      await harness.advance(1);
      expect(await harness.shown("a")).toEqual(PERFORMANCE);
    },
  );

  it("X-121 without a receipt in 60 s the node stays eco, another one is promoted, and Events say so", async () => {
    await begin();
    await pending("urgent");
    await harness.advance(58);
    expect(await harness.shown("b")).toEqual(ECO);
    await harness.advance(10);
    expect(await harness.shown("a")).toEqual(ECO);
    expect(await harness.shown("b")).toEqual(WAITING);
    await report("b");
    await harness.advance(1);
    expect(await harness.shown("b")).toEqual(PERFORMANCE);
    expect(await eventsOf("CapsNotConfirmed")).toEqual(["a", "urgent"]);
  });

  it("X-121 tries the node again after five minutes, but only if its agent has reported", async () => {
    await begin();
    await pending("urgent");
    await harness.cordon("b");
    await harness.advance(70);
    expect(await harness.shown("a")).toEqual(ECO);
    await harness.advance(400);
    expect(await harness.shown("a")).toEqual(ECO);
    await report("a");
    await harness.advance(70);
    await report("a");
    await harness.advance(2);
    expect(await harness.shown("a")).toEqual(PERFORMANCE);
  });

  it("X-120 a restarted operator waits for the receipt as well", async () => {
    const first = harness.start(policy);
    await harness.advance(15);
    for (const name of NODES) await report(name);
    await pending("urgent");
    await harness.advance(3);
    await first.stop();
    harness.start(policy);
    await harness.advance(40);
    expect(await harness.shown("a")).toEqual(WAITING);
    await report("a");
    await harness.advance(1);
    expect(await harness.shown("a")).toEqual(PERFORMANCE);
  });

  it("X-120 a node whose agent restored all limits and stopped is promoted at once", async () => {
    await begin();
    await report("a", { observedGeneration: undefined });
    await pending("urgent");
    await harness.advance(1);
    expect(await harness.shown("a")).toEqual(PERFORMANCE);
  });
});
