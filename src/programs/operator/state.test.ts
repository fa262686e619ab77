import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { createLogger } from "../../platform/log/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { ClusterState } from "./state.ts";
import { Trial } from "./trial.ts";

describe("the cluster as the operator knows it", () => {
  let trial: Trial;
  let state: ClusterState;
  beforeEach(async () => {
    trial = await Trial.begin();
    state = new ClusterState({
      client: trial.hand,
      clock: trial.clock,
      random: seededRandom(3),
      log: createLogger({ level: "silent", program: "operator" }),
      powerProfileLabel: "joulie.io/power-profile",
      onNews: () => undefined,
      onUnknownClass: () => undefined,
    });
    state.start();
  });
  afterEach(async () => {
    await state.stop();
    await trial.end();
  });

  it("tells when the pods of a node are others, and forgets a Node that went before its pods", async () => {
    await trial.createNode("n");
    await trial.pass(1);
    expect(state.podsVersion("n")).toBe(0);
    await trial.createPod("p", "n");
    await trial.pass(1);
    const before = state.podsVersion("n");
    expect(before).toBeGreaterThan(0);
    await trial.finishPod("p");
    await trial.pass(1);
    expect(state.podsVersion("n")).toBeGreaterThan(before);
    await trial.hand.delete(resources.nodes, { name: "n" });
    await trial.pass(1);
    expect(state.podsVersion("n")).toBe(0);
    await trial.createPod("late", "n");
    await trial.pass(1);
    expect([...state.podsOn("n")].length).toBeGreaterThan(0);
    expect(state.podsVersion("n")).toBe(0);
  });
});
