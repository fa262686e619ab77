import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { Trial } from "./trial.ts";

const SOON = 5;
const annotated = (text: string) => ({ annotations: { "joulie.io/workload-class": text } });

describe("X-12 a misspelt joulie.io/workload-class", () => {
  let trial: Trial;
  beforeEach(async () => {
    trial = await Trial.begin();
    await trial.createNode("n");
  });
  afterEach(async () => trial.end());

  const warnings = async () => (await trial.events()).filter(({ reason }) => reason === "UnknownWorkloadClass");
  const annotate = async (name: string, text: string) =>
    trial.hand.mergePatch(resources.pods, { name, namespace: "default" }, { metadata: annotated(text) });

  it("gives a Warning Event on the Pod, soon, that names the value and the allowed ones", async () => {
    trial.start();
    await trial.pass(SOON);
    await trial.createPod("fast", undefined, annotated("perfomance"));
    await trial.pass(SOON);
    const { uid } = (await trial.hand.get(resources.pods, { name: "fast", namespace: "default" })).metadata;
    expect(await warnings()).toMatchObject([
      {
        type: "Warning",
        metadata: { namespace: "default" },
        regarding: { apiVersion: "v1", kind: "Pod", namespace: "default", name: "fast", uid },
        note: 'joulie.io/workload-class is "perfomance"; allowed are "performance" and "standard". The pod counts as standard.',
      },
    ]);
  });

  it("is told once per pod and value, however often the pod changes", async () => {
    await trial.createPod("fast", undefined, annotated("perfomance"));
    trial.start();
    await trial.pass(SOON);
    for (let turn = 0; turn < 3; turn++) {
      await trial.label("n", { turn: String(turn) });
      await trial.hand.mergePatch(
        resources.pods,
        { name: "fast", namespace: "default" },
        { metadata: { labels: { turn: String(turn) } } },
      );
      await trial.pass(70);
    }
    expect(await warnings()).toHaveLength(1);
    expect((await warnings())[0]).not.toHaveProperty("series");
    await annotate("fast", "Standard");
    await trial.pass(SOON);
    expect((await warnings()).map(({ note }) => note.slice(0, 40))).toEqual([
      'joulie.io/workload-class is "perfomance"',
      'joulie.io/workload-class is "Standard"; ',
    ]);
    await annotate("fast", "standard");
    await trial.pass(SOON);
    expect(await warnings()).toHaveLength(2);
  });

  it("says nothing of pods whose class is right, or that have ended", async () => {
    await trial.createPod("a", undefined, annotated("performance"));
    await trial.createPod("b", undefined, annotated("standard"));
    await trial.createPod("c", undefined);
    await trial.createPod("d", "n", annotated("batch"));
    await trial.finishPod("d");
    trial.start();
    await trial.pass(SOON);
    expect(await warnings()).toEqual([]);
  });

  it("escapes and shortens the value: anybody may write it", async () => {
    trial.start();
    await trial.createPod("odd", undefined, annotated(`a\n"\u009b\u202e${"x".repeat(2000)}`));
    await trial.pass(SOON);
    const [{ note } = { note: "" }] = await warnings();
    expect(note).toContain(`is "a\\n\\"\\u009b\\u202e${"x".repeat(58)}…"; allowed are`);
    expect(note.length).toBeLessThan(250);
  });

  it("of very many pods is told of some per minute, so that other events still get through", async () => {
    for (let pod = 0; pod < 120; pod++) await trial.createPod(`p${pod}`, undefined, annotated("perf"));
    trial.start();
    await trial.pass(SOON);
    expect(await warnings()).toHaveLength(50);
    await trial.pass(70);
    expect((await warnings()).length).toBeLessThanOrEqual(100);
    await trial.pass(200);
    expect(await warnings()).toHaveLength(120);
  });

  it("is told by the leader alone", async () => {
    trial.start();
    trial.start();
    await trial.pass(SOON);
    await trial.createPod("fast", undefined, annotated("perfomance"));
    await trial.pass(70);
    expect(await warnings()).toHaveLength(1);
  });
});
