import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { OperatorTestHarness } from "../testing/test-harness.ts";
import { ClusterState } from "./cluster-state.ts";

describe("ClusterState", () => {
  let harness: OperatorTestHarness;
  let state: ClusterState;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    state = new ClusterState({
      client: harness.user,
      clock: harness.clock,
      random: seededRandom(3),
      log: createLogger({ level: "silent", program: "operator" }),
      powerProfileLabel: "joulie.io/power-profile",
      readsShapes: false,
      onRelevantChange: () => undefined,
      onPendingPerformancePod: () => undefined,
      onUnknownClass: () => undefined,
    });
    state.start();
  });
  afterEach(async () => {
    await state.stop();
    await harness.end();
  });

  it("changes podsVersion with the pods of a node, and forgets a Node that was deleted before its pods", async () => {
    await harness.createNode("n");
    await harness.advance(1);
    expect(state.podsVersion("n")).toBe(0);
    await harness.createPod("p", "n");
    await harness.advance(1);
    const before = state.podsVersion("n");
    expect(before).toBeGreaterThan(0);
    await harness.finishPod("p");
    await harness.advance(1);
    expect(state.podsVersion("n")).toBeGreaterThan(before);
    await harness.user.delete(resources.nodes, { name: "n" });
    await harness.advance(1);
    expect(state.podsVersion("n")).toBe(0);
    await harness.createPod("late", "n");
    await harness.advance(1);
    expect([...state.podsOn("n")].length).toBeGreaterThan(0);
    expect(state.podsVersion("n")).toBe(0);
  });
});
