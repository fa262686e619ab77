import { describe, expect, it } from "vitest";
import { judgeBindings } from "./sleep-history.ts";
import type { Version, WitnessedObject } from "./witness.ts";

type Line = readonly [kind: Version["kind"], name: string, object: object | undefined];
/** Each line is one version. */
const judge = (...lines: readonly Line[]) =>
  judgeBindings(
    lines.map(([kind, name, object], version) => ({ kind, name, version, object: object as WitnessedObject })),
  );
const step = (name: string) => ({ status: { operation: { type: "sleep", step: name } } });
const wake = (name: string) => ({ status: { operation: { type: "wake", step: name } } });
const on = { status: {} };
const off = { status: { lastSleep: { at: "2030-01-01T00:00:00Z", result: "succeeded" } } };
const pod = (more: object = {}) => ({ spec: { nodeName: "n", ...more }, status: { phase: "Pending" } });
const tolerant = pod({ tolerations: [{ operator: "Exists" }] });
const tainted = { spec: { taints: [{ key: "joulie.io/asleep" }] } };

describe("the judge of bindings", () => {
  it("accepts a pod on a node that is on, and one that stops a sleep", () => {
    const { violations } = judge(
      ["pods", "a", pod()],
      ["endpoints", "n", step("taint")],
      ["pods", "b", pod()],
      ["endpoints", "n", step("count")],
      ["endpoints", "n", step("shutdown")],
      ["pods", "c", pod()],
      ["endpoints", "n", on],
    );
    expect(violations).toEqual([]);
  });

  it.each(["taint", "count"])("finds a pod that was bound in step %s and did not stop the sleep", (name) => {
    for (const one of [pod(), tolerant]) {
      const { violations } = judge(
        ["endpoints", "n", step(name)],
        ["pods", "a", one],
        ["endpoints", "n", step("shutdown")],
        ["endpoints", "n", off],
      );
      expect(violations).toHaveLength(1);
    }
  });

  it("does not count a pod that has ended or was deleted before", () => {
    const { violations } = judge(
      ["endpoints", "n", step("count")],
      ["pods", "a", pod()],
      ["pods", "b", pod()],
      ["pods", "a", undefined],
      ["pods", "b", { ...pod(), status: { phase: "Succeeded" } }],
      ["endpoints", "n", step("shutdown")],
      ["endpoints", "n", off],
    );
    expect(violations).toEqual([]);
  });

  it.each(["shutdown", "force"])("finds a pod that was bound in step %s, unless it tolerates the taint", (name) => {
    const { violations, tolerated } = judge(
      ["endpoints", "n", step(name)],
      ["pods", "a", pod()],
      ["pods", "b", tolerant],
      ["endpoints", "n", wake("on")],
    );
    expect([violations, tolerated]).toEqual([["a was bound to n while it was switched off"], ["b"]]);
  });

  it("finds a pod on a node that is off or wakes, until the taint is gone", () => {
    const { violations, tolerated } = judge(
      ["nodes", "n", tainted],
      ["endpoints", "n", off],
      ["pods", "a", pod()],
      ["pods", "b", tolerant],
      ["endpoints", "n", wake("ready")],
      ["pods", "c", pod({ tolerations: [{ key: "other", operator: "Exists" }] })],
      ["nodes", "n", {}],
      ["pods", "d", pod()],
    );
    expect(violations).toEqual(["a was bound to n, which was off", "c was bound to n, which was waking"]);
    expect(tolerated).toEqual(["b"]);
  });

  it("accepts a pod on a node that came back after its wake failed, once the taint is gone", () => {
    const failed = { status: { ...off.status, lastWake: { at: "2030-01-01T00:10:00Z", result: "failed" } } };
    const { violations } = judge(
      ["nodes", "n", tainted],
      ["endpoints", "n", failed],
      ["pods", "a", pod()],
      ["nodes", "n", {}],
      ["pods", "b", pod()],
    );
    expect(violations).toEqual(["a was bound to n, which was failed"]);
  });

  it("does not blame a sleep whose Node was deleted before the switch was asked", () => {
    const { violations } = judge(
      ["endpoints", "n", step("count")],
      ["pods", "a", pod()],
      ["nodes", "n", undefined],
      ["endpoints", "n", wake("on")],
    );
    expect(violations).toEqual([]);
  });

  it("finds a pod on a tainted node whose PowerEndpoint was deleted", () => {
    const { violations } = judge(
      ["nodes", "n", tainted],
      ["endpoints", "n", off],
      ["endpoints", "n", undefined],
      ["pods", "a", pod()],
    );
    expect(violations).toEqual(["a was bound to n, which was off"]);
  });
});
