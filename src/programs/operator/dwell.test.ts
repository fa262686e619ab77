import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { performancePod, Trial } from "./trial.ts";

/** One performance node for up to ten performance pods, two for eleven. */
const queue = { POLICY_TYPE: "queue_aware_v1", QUEUE_HP_BASE_FRAC: "0", QUEUE_PERF_PER_HP_NODE: "10" };
const SOON = 5;
const MINUTE = 60;

describe("X-96 a promoted node keeps the performance profile for PROFILE_MIN_DWELL", () => {
  let trial: Trial;
  beforeEach(async () => {
    trial = await Trial.begin();
    for (const name of ["a", "b", "c"]) await trial.createNode(name);
    for (let pod = 0; pod < 10; pod++) await trial.createPod(`base-${pod}`, "a", performancePod);
  });
  afterEach(async () => trial.end());

  const remove = async (name: string) => trial.hand.delete(resources.pods, { name, namespace: "default" });
  const profileOf = async (name: string) => (await trial.twin(name)).spec.profile;
  const labelOf = async (name: string) => (await trial.labelsOf(name))["joulie.io/power-profile"];
  /** b is eco, then promoted by an eleventh pod, which goes again. */
  const promote = async () => {
    await trial.pass(2 * SOON);
    expect(await profileOf("b")).toBe("eco");
    await trial.createPod("eleventh", undefined, performancePod);
    await trial.pass(SOON);
    expect(await profileOf("b")).toBe("performance");
    await remove("eleventh");
  };
  const pinToEco = async (name: string) => trial.pin(name, { profile: "eco" });

  it("P alternating between 10 and 11 for five minutes promotes one node once", async () => {
    const operator = trial.start(queue);
    await trial.pass(2 * SOON);
    operator.written();
    for (let turn = 0; turn < 30; turn++) {
      await trial.createPod(`extra-${turn}`, undefined, performancePod);
      await trial.pass(SOON);
      expect(await profileOf("b")).toBe("performance");
      await remove(`extra-${turn}`);
      await trial.pass(SOON);
    }
    const specs = operator.written().filter(({ path }) => /nodetwins\/\w+$/.test(path));
    expect(specs.map(({ path, body }) => [path.slice(-1), (body["spec"] as { profile: string }).profile])).toEqual([
      ["b", "performance"],
    ]);
    const transitions = await operator.series("state_transitions_total", 'from_state="ActiveEco"');
    expect(transitions).toHaveLength(1);
    expect(transitions[0]).toMatch(/node="b".* 1$/);
  });

  it("goes to eco once the time is over, and says until when on /debug/plan", async () => {
    const operator = trial.start(queue);
    await promote();
    await trial.pass(SOON);
    const { lastTransitionTime = "" } = (await trial.twin("b")).status ?? {};
    const until = new Date(Date.parse(lastTransitionTime) + 5 * MINUTE * 1000).toISOString();
    expect(JSON.parse((await operator.page("/debug/plan?node=b")).text)).toMatchObject({
      reason: `promoted less than PROFILE_MIN_DWELL ago: performance until ${until}`,
    });
    await trial.pass(4.5 * MINUTE);
    expect(await profileOf("b")).toBe("performance");
    await trial.pass(2 * MINUTE);
    expect(await profileOf("b")).toBe("eco");
    expect(await labelOf("b")).toBe("eco");
  });

  it("survives a restart of the operator: the time is in the NodeTwin", async () => {
    const first = trial.start(queue);
    await promote();
    await first.stop();
    await trial.pass(MINUTE);
    trial.start(queue);
    await trial.pass(2.5 * MINUTE);
    expect(await profileOf("b")).toBe("performance");
    await trial.pass(3 * MINUTE);
    expect(await profileOf("b")).toBe("eco");
  });

  it("keeps the time through heartbeats and every other write of the status", async () => {
    trial.start({ ...queue, TWIN_HEARTBEAT: "10s" });
    await promote();
    const before = (await trial.twin("b")).status;
    await trial.pass(MINUTE);
    const after = (await trial.twin("b")).status;
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
    trial.start({ ...queue, PROFILE_MIN_DWELL: dwell });
    await promote();
    await trial.pass(seconds);
    expect(await profileOf("b")).toBe(profile);
  });

  it("does not hold a node whose time lies far in the future, be it by a clock that was set back", async () => {
    const first = trial.start(queue);
    await promote();
    await first.stop();
    const lastTransitionTime = new Date(trial.clock.now() + 24 * 3600 * 1000).toISOString();
    await trial.hand.mergePatch(
      resources.nodeTwins,
      { name: "b" },
      { status: { lastTransitionTime } },
      { subresource: "status" },
    );
    trial.start(queue);
    await trial.pass(30);
    expect(await profileOf("b")).toBe("eco");
  });

  it("a pin to eco is obeyed at once", async () => {
    trial.start(queue);
    await promote();
    await pinToEco("b");
    await trial.pass(2 * SOON);
    expect(await profileOf("b")).toBe("eco");
  });

  it("does not hold a node that was never promoted: it only started at performance", async () => {
    trial.start(queue);
    await trial.pass(2 * SOON);
    expect(await profileOf("a")).toBe("performance");
    expect((await trial.twin("a")).status?.lastTransitionTime).toBeUndefined();
    for (let pod = 0; pod < 10; pod++) await remove(`base-${pod}`);
    await trial.label("b", { "joulie.io/hw.cpu-cores": "512" });
    await trial.pass(2 * SOON);
    expect(await profileOf("b")).toBe("performance");
    expect(await profileOf("a")).toBe("eco");
  });

  it("promotion does not wait for a node that is held", async () => {
    trial.start(queue);
    await promote();
    await trial.label("c", { "joulie.io/hw.cpu-cores": "512" });
    await trial.pass(SOON);
    expect(await profileOf("c")).toBe("performance");
    expect(await profileOf("b")).toBe("performance");
  });
});
