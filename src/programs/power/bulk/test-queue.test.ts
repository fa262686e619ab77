import { describe, expect, it } from "vitest";
import { nextTests, obstacleOf, type TestCandidate } from "./test-queue.ts";

const node = (name: string, facts: Partial<TestCandidate> = {}): TestCandidate => ({
  node: name,
  zone: "z",
  isUp: true,
  pods: 0,
  ...facts,
});
const many = (count: number, facts: Partial<TestCandidate> = {}, prefix = "n") =>
  Array.from({ length: count }, (_, index) => node(`${prefix}${index}`, facts));
const namesOf = (nodes: readonly TestCandidate[]) => new Set(nodes.map((one) => one.node));
const limits = { concurrency: 5, drain: false };
const next = (nodes: readonly TestCandidate[], running: readonly string[] = [], own = limits) =>
  nextTests(nodes, namesOf(nodes.filter(({ node: name }) => !running.includes(name))), new Set(running), own);

describe("nextTests", () => {
  it("SLP-82 starts as many tests as allowed, and counts those that run", () => {
    expect(next(many(100))).toHaveLength(5);
    expect(next(many(100), ["n0", "n1", "n2"])).toHaveLength(2);
    expect(next(many(100), ["n0", "n1", "n2", "n3", "n4"])).toEqual([]);
  });

  it("SLP-82 tests at most a tenth of a zone at the same time, and at least one node", () => {
    expect(next(many(20))).toHaveLength(2);
    expect(next(many(5))).toHaveLength(1);
    expect(next([node("only")])).toEqual(["only"]);
    expect(next([...many(20, { zone: "a" }, "a"), ...many(20, { zone: "b" }, "b")])).toHaveLength(4);
  });

  it("SLP-82 tests no node of a zone of which almost half is down", () => {
    expect(next([...many(55), ...many(45, { isUp: false }, "down")])).toEqual([]);
    expect(next([...many(60), ...many(40, { isUp: false }, "down")]).length).toBeGreaterThan(0);
  });

  it("SLP-82 begins with empty nodes, and leaves nodes with pods alone unless they are to be drained", () => {
    const nodes = [
      node("busy", { pods: 3, zone: "a" }),
      node("idle", { zone: "b" }),
      node("stuck", { pods: 1, stuck: "lonely", zone: "c" }),
    ];
    expect(next(nodes)).toEqual(["idle"]);
    expect(next(nodes, [], { concurrency: 5, drain: true })).toEqual(["idle", "busy"]);
  });

  it("SLP-82 says why a node cannot be tested", () => {
    expect(obstacleOf(node("a", { barrier: "control plane" }), true)).toBe("control plane");
    expect(obstacleOf(node("a", { isUp: false }), true)).toBe("it is not Ready, or it sleeps");
    expect(obstacleOf(node("a", { pods: 2 }), false)).toBe("2 pods run on it; --drain moves them away");
    expect(obstacleOf(node("a", { pods: 1, stuck: "lonely" }), true)).toBe("lonely");
    expect(obstacleOf(node("a", { pods: 2 }), true)).toBeUndefined();
  });
});
