import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { OperatorTestHarness, performancePod } from "./testing/test-harness.ts";

/** One performance node for up to ten performance pods, two for eleven. */
const queue = { POLICY_TYPE: "queue_aware_v1", QUEUE_HP_BASE_FRAC: "0", QUEUE_PERF_PER_HP_NODE: "10" };
const SOON = 5;
const MINUTE = 60;

describe("X-96 a promoted node keeps the performance profile for PROFILE_MIN_DWELL", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    for (const name of ["a", "b", "c"]) await harness.createNode(name);
    for (let pod = 0; pod < 10; pod++) await harness.createPod(`base-${pod}`, "a", performancePod);
  });
  afterEach(async () => harness.end());

  const remove = async (name: string) => harness.user.delete(resources.pods, { name, namespace: "default" });
  const profileOf = async (name: string) => (await harness.twin(name)).spec.profile;
  const labelOf = async (name: string) => (await harness.labelsOf(name))["joulie.io/power-profile"];
  /** b is eco, then promoted by an eleventh pod, which goes again. */
  const promote = async () => {
    await harness.advance(2 * SOON);
    expect(await profileOf("b")).toBe("eco");
    await harness.createPod("eleventh", undefined, performancePod);
    await harness.advance(SOON);
    expect(await profileOf("b")).toBe("performance");
    await remove("eleventh");
  };
  const pinToEco = async (name: string) => harness.pin(name, { profile: "eco" });

  it("P alternating between 10 and 11 for five minutes promotes one node once", async () => {
    const operator = harness.start(queue);
    await harness.advance(2 * SOON);
    operator.written();
    for (let turn = 0; turn < 30; turn++) {
      await harness.createPod(`extra-${turn}`, undefined, performancePod);
      await harness.advance(SOON);
      expect(await profileOf("b")).toBe("performance");
      await remove(`extra-${turn}`);
      await harness.advance(SOON);
    }
    const specs = operator.written().filter(({ path }) => /nodetwins\/\w+$/.test(path));
    expect(specs.map(({ path, body }) => [path.slice(-1), (body["spec"] as { profile: string }).profile])).toEqual([
      ["b", "performance"],
    ]);
    const transitions = await operator.series("state_transitions_total", 'from_state="ActiveEco"');
    expect(transitions).toHaveLength(1);
    expect(transitions[0]).toMatch(/node="b".* 1$/);
  });

  it("downgrades the node after that time, and shows the end time on /debug/plan", async () => {
    const operator = harness.start(queue);
    await promote();
    await harness.advance(SOON);
    const { lastTransitionTime = "" } = (await harness.twin("b")).status ?? {};
    const until = new Date(Date.parse(lastTransitionTime) + 5 * MINUTE * 1000).toISOString();
    expect(JSON.parse((await operator.page("/debug/plan?node=b")).text)).toMatchObject({
      reason: `promoted less than PROFILE_MIN_DWELL ago: performance until ${until}`,
    });
    await harness.advance(4.5 * MINUTE);
    expect(await profileOf("b")).toBe("performance");
    await harness.advance(2 * MINUTE);
    expect(await profileOf("b")).toBe("eco");
    expect(await labelOf("b")).toBe("eco");
  });

  it("survives a restart of the operator, because the time is in the NodeTwin", async () => {
    const first = harness.start(queue);
    await promote();
    await first.stop();
    await harness.advance(MINUTE);
    harness.start(queue);
    await harness.advance(2.5 * MINUTE);
    expect(await profileOf("b")).toBe("performance");
    await harness.advance(3 * MINUTE);
    expect(await profileOf("b")).toBe("eco");
  });

  it("keeps the time across heartbeats and other status writes", async () => {
    harness.start({ ...queue, TWIN_HEARTBEAT: "10s" });
    await promote();
    const before = (await harness.twin("b")).status;
    await harness.advance(MINUTE);
    const after = (await harness.twin("b")).status;
    expect(after?.lastUpdated).not.toBe(before?.lastUpdated);
    expect(after?.lastTransitionTime).toBe(before?.lastTransitionTime);
    expect(await profileOf("b")).toBe("performance");
  });

  it.each([
    ["0s", SOON, "eco"],
    ["1m", SOON, "performance"],
    ["1m", 2.2 * MINUTE, "eco"],
    ["1h", 30 * MINUTE, "performance"],
  ])("with PROFILE_MIN_DWELL=%s it is, %d s later, %s", async (dwell, seconds, profile) => {
    harness.start({ ...queue, PROFILE_MIN_DWELL: dwell });
    await promote();
    await harness.advance(seconds);
    expect(await profileOf("b")).toBe(profile);
  });

  it("does not hold a node whose time is far in the future, for example after the clock was set back", async () => {
    const first = harness.start(queue);
    await promote();
    await first.stop();
    const lastTransitionTime = new Date(harness.clock.now() + 24 * 3600 * 1000).toISOString();
    await harness.user.mergePatch(
      resources.nodeTwins,
      { name: "b" },
      { status: { lastTransitionTime } },
      { subresource: "status" },
    );
    harness.start(queue);
    await harness.advance(30);
    expect(await profileOf("b")).toBe("eco");
  });

  it("applies a pin to eco at once", async () => {
    harness.start(queue);
    await promote();
    await pinToEco("b");
    await harness.advance(2 * SOON);
    expect(await profileOf("b")).toBe("eco");
  });

  it("does not hold a node that started at performance and was never promoted", async () => {
    harness.start(queue);
    await harness.advance(2 * SOON);
    expect(await profileOf("a")).toBe("performance");
    expect((await harness.twin("a")).status?.lastTransitionTime).toBeUndefined();
    for (let pod = 0; pod < 10; pod++) await remove(`base-${pod}`);
    await harness.label("b", { "joulie.io/hw.cpu-cores": "512" });
    await harness.advance(2 * SOON);
    expect(await profileOf("b")).toBe("performance");
    expect(await profileOf("a")).toBe("eco");
  });

  it("promotes a node while another one is held", async () => {
    harness.start(queue);
    await promote();
    await harness.label("c", { "joulie.io/hw.cpu-cores": "512" });
    await harness.advance(SOON);
    expect(await profileOf("c")).toBe("performance");
    expect(await profileOf("b")).toBe("performance");
  });
});
