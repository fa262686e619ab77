import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../../platform/kube/index.ts";
import { OperatorTestHarness } from "../testing/test-harness.ts";

const SOON = 5;
const annotated = (text: string) => ({ annotations: { "joulie.io/workload-class": text } });

describe("X-12 an invalid joulie.io/workload-class", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    await harness.createNode("n");
  });
  afterEach(async () => harness.end());

  const warnings = async () => (await harness.events()).filter(({ reason }) => reason === "UnknownWorkloadClass");
  const annotate = async (name: string, text: string) =>
    harness.user.mergePatch(resources.pods, { name, namespace: "default" }, { metadata: annotated(text) });

  it("produces a Warning Event on the Pod with the value and the allowed values", async () => {
    harness.start();
    await harness.advance(SOON);
    await harness.createPod("fast", undefined, annotated("perfomance"));
    await harness.advance(SOON);
    const { uid } = (await harness.user.get(resources.pods, { name: "fast", namespace: "default" })).metadata;
    expect(await warnings()).toMatchObject([
      {
        type: "Warning",
        metadata: { namespace: "default" },
        regarding: { apiVersion: "v1", kind: "Pod", namespace: "default", name: "fast", uid },
        note: 'joulie.io/workload-class is "perfomance"; allowed are "performance" and "standard". The pod counts as standard.',
      },
    ]);
  });

  it("is reported once per pod and value, however often the pod changes", async () => {
    await harness.createPod("fast", undefined, annotated("perfomance"));
    harness.start();
    await harness.advance(SOON);
    for (let turn = 0; turn < 3; turn++) {
      await harness.label("n", { turn: String(turn) });
      await harness.user.mergePatch(
        resources.pods,
        { name: "fast", namespace: "default" },
        { metadata: { labels: { turn: String(turn) } } },
      );
      await harness.advance(70);
    }
    expect(await warnings()).toHaveLength(1);
    expect((await warnings())[0]).not.toHaveProperty("series");
    await annotate("fast", "Standard");
    await harness.advance(SOON);
    expect((await warnings()).map(({ note }) => note.slice(0, 40))).toEqual([
      'joulie.io/workload-class is "perfomance"',
      'joulie.io/workload-class is "Standard"; ',
    ]);
    await annotate("fast", "standard");
    await harness.advance(SOON);
    expect(await warnings()).toHaveLength(2);
  });

  it("is not reported for pods with a valid class or pods that have ended", async () => {
    await harness.createPod("a", undefined, annotated("performance"));
    await harness.createPod("b", undefined, annotated("standard"));
    await harness.createPod("c", undefined);
    await harness.createPod("d", "n", annotated("batch"));
    await harness.finishPod("d");
    harness.start();
    await harness.advance(SOON);
    expect(await warnings()).toEqual([]);
  });

  it("is escaped and shortened, because users control it", async () => {
    harness.start();
    await harness.createPod("odd", undefined, annotated(`a\n"\u009b\u202e${"x".repeat(2000)}`));
    await harness.advance(SOON);
    const [{ note } = { note: "" }] = await warnings();
    expect(note).toContain(`is "a\\n\\"\\u009b\\u202e${"x".repeat(58)}…"; allowed are`);
    expect(note.length).toBeLessThan(250);
  });

  it("is reported for a limited number of pods per minute, so that other Events still get through", async () => {
    for (let pod = 0; pod < 120; pod++) await harness.createPod(`p${pod}`, undefined, annotated("perf"));
    harness.start();
    await harness.advance(SOON);
    expect(await warnings()).toHaveLength(50);
    await harness.advance(70);
    expect((await warnings()).length).toBeLessThanOrEqual(100);
    await harness.advance(200);
    expect(await warnings()).toHaveLength(120);
  });

  it("is reported only by the leader", async () => {
    harness.start();
    harness.start();
    await harness.advance(SOON);
    await harness.createPod("fast", undefined, annotated("perfomance"));
    await harness.advance(70);
    expect(await warnings()).toHaveLength(1);
  });
});
