import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { annotations } from "../../core/api/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { OperatorTestHarness } from "./testing/test-harness.ts";

describe("the stop annotation on the operator's namespace", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    await harness.createNode("a");
  });
  afterEach(async () => harness.end());

  const annotate = async (value: string | null) =>
    harness.user.mergePatch(
      resources.namespaces,
      { name: "joulie-system" },
      { metadata: { annotations: { [annotations.stop]: value } } },
    );

  it("X-101 stops all writes about nodes until it is removed", async () => {
    const operator = harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(5);
    expect(operator.written()).not.toEqual([]);
    expect(await operator.series("joulie_operator_stopped")).toEqual(["joulie_operator_stopped 0"]);
    await annotate("true");
    await harness.advance(2);
    expect(await operator.series("joulie_operator_stopped")).toEqual(["joulie_operator_stopped 1"]);
    operator.written();
    await harness.createNode("b");
    await harness.label("a", { "joulie.io/power-profile": null });
    await harness.advance(300);
    expect(operator.written()).toEqual([]);
    expect(operator.logs.filter(({ msg }) => /joulie\.io\/stop/.test(msg))).toHaveLength(1);
    await annotate(null);
    await harness.advance(5);
    expect((await harness.shown("b")).labels).toBe("eco false");
    expect((await harness.shown("a")).labels).toBe("eco false");
  });

  it("X-102 does not create a NodeTwin again that the administrator deletes meanwhile", async () => {
    const operator = harness.start();
    await harness.advance(5);
    await annotate("true");
    await harness.advance(2);
    operator.written();
    await harness.user.delete(resources.nodeTwins, { name: "a" });
    await harness.advance(300);
    expect(await harness.findTwin("a")).toBeUndefined();
    expect(operator.written()).toEqual([]);
  });

  it("X-101 applies at the start, before the first write", async () => {
    await annotate("true");
    const operator = harness.start();
    await harness.advance(60);
    expect(operator.written()).toEqual([]);
  });
});
