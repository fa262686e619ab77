import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { explain, unfitReason } from "./choose.ts";
import { mayAcceptMorePods, nodeViewOf, podViewOf } from "./cluster-view.ts";
import { Occupancy } from "./occupancy.ts";

const pod = (requests: object, name = "p") =>
  podViewOf(
    {
      metadata: { name, namespace: "default", uid: name },
      spec: { containers: [{ resources: { requests } }] },
    } as never,
    "default-scheduler",
  );
const node = (allocatable: object, more: object = {}) =>
  nodeViewOf({ metadata: { name: "n", labels: {} }, status: { allocatable }, ...more } as never, false);

describe("misfit", () => {
  it("fills a node exactly to its capacity", () => {
    const occupancy = new Occupancy();
    const one = node({ cpu: "1", memory: "1Gi" });
    for (let count = 0; count < 10; count++) {
      expect(unfitReason(pod({ cpu: "100m" }), one, occupancy.on("n"))).toBeUndefined();
      occupancy.place(`p${count}`, "n", pod({ cpu: "100m" }).requests);
    }
    expect(unfitReason(pod({ cpu: "1m" }), one, occupancy.on("n"))).toBe("Insufficient cpu");
  });

  it("treats unlisted resources as 0, and fits a pod without requests", () => {
    const occupancy = new Occupancy();
    expect(unfitReason(pod({ "nvidia.com/gpu": "1" }), node({ cpu: "1" }), occupancy.on("n"))).toBe(
      "Insufficient nvidia.com/gpu",
    );
    expect(unfitReason(pod({ cpu: "0" }), node({}), occupancy.on("n"))).toBeUndefined();
    expect(unfitReason(pod({ memory: "garbage" }), node({}), occupancy.on("n"))).toBeUndefined();
    expect(unfitReason(pod({}), node({ pods: "0" }), occupancy.on("n"))).toBe("Too many pods");
    expect(unfitReason(pod({ cpu: "1" }), node({ cpu: "garbage" }), occupancy.on("n"))).toBe("Insufficient cpu");
  });
});

describe("Occupancy", () => {
  it("is exactly 0 after all pods are removed in any order", () => {
    const step = fc.record({
      pod: fc.nat({ max: 20 }),
      node: fc.constantFrom("a", "b"),
      cpu: fc.nat({ max: 5000 }),
      leave: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const occupancy = new Occupancy();
        const truth = new Map<number, { node: string; cpu: number }>();
        for (const { pod: id, node: where, cpu, leave } of steps) {
          if (leave) {
            if (occupancy.remove(String(id)) !== truth.delete(id)) throw new Error("it does not know who stands there");
          } else {
            occupancy.place(String(id), where, pod({ cpu: `${cpu}m` }).requests);
            truth.set(id, { node: where, cpu });
          }
          for (const name of ["a", "b"]) {
            const here = [...truth.values()].filter((one) => one.node === name);
            expect(occupancy.on(name).pods).toBe(here.length);
            const sum = here.reduce((all, one) => all + one.cpu, 0);
            expect(Math.round((occupancy.on(name).requested.get("cpu") ?? 0) * 1000)).toBe(sum);
          }
        }
        for (const id of truth.keys()) occupancy.remove(String(id));
        expect(occupancy.on("a").requested.size + occupancy.on("b").requested.size).toBe(0);
      }),
    );
  });
});

describe("explain", () => {
  it("sorts the reasons", () => {
    const reasons = new Map([
      ["Too many pods", 1],
      ["Insufficient cpu", 2],
    ]);
    expect(explain(3, reasons)).toBe("0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu.");
    expect(explain(0, new Map())).toBe("no nodes available to schedule pods");
  });
});

describe("offersOther", () => {
  it("detects changes of labels, taints, cordons and capacity, and ignores heartbeats", () => {
    const before = node({ cpu: "1" });
    expect(
      mayAcceptMorePods(before, node({ cpu: "1000m" }, { status: { allocatable: { cpu: "1" }, conditions: [{}] } })),
    ).toBe(false);
    expect(mayAcceptMorePods(before, node({ cpu: "2" }))).toBe(true);
    expect(mayAcceptMorePods(before, node({ cpu: "1" }, { spec: { unschedulable: true } }))).toBe(true);
    expect(
      mayAcceptMorePods(before, node({ cpu: "1" }, { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } })),
    ).toBe(true);
    expect(mayAcceptMorePods(before, { ...before, labels: { a: "b" } })).toBe(true);
  });
});
