import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import type { KubeClient } from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { OperatorTestHarness } from "../testing/test-harness.ts";
import { ClusterState } from "./cluster-state.ts";

describe("ClusterState", () => {
  let harness: OperatorTestHarness;
  let state: ClusterState;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    state = stateOf(harness.user);
    state.start();
  });
  afterEach(async () => {
    await state.stop();
    await harness.end();
  });

  const stateOf = (client: KubeClient) =>
    new ClusterState({
      client,
      clock: harness.clock,
      random: seededRandom(3),
      log: createLogger({ level: "silent", program: "operator" }),
      powerProfileLabel: "joulie.io/power-profile",
      readsShapes: false,
      onRelevantChange: () => undefined,
      onUrgentChange: () => undefined,
      onPlacedPod: () => undefined,
      onUnknownClass: () => undefined,
    });

  // Servers leave out bookmarks that are not newer than the start of the watch.
  it("X-24 stays current while the first bookmarks of quiet watches take more than two minutes", async () => {
    const inner = harness.api.transport();
    harness.api.transport = () => ({
      request: async (request) =>
        inner.request({ ...request, path: request.path.replace("allowWatchBookmarks=true", "") }),
      close: async () => inner.close(),
    });
    const quiet = stateOf(harness.clientOf("operator"));
    quiet.start();
    await harness.advance(1);
    const outdated: (readonly string[])[] = [];
    for (let second = 0; second < 300; second++) {
      await harness.clock.advanceAsync(milliseconds(1000));
      if (!quiet.current) outdated.push([`after ${second} s`, ...quiet.outdated]);
    }
    await quiet.stop();
    expect(outdated).toEqual([]);
  });
});
