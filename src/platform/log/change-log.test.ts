import { describe, expect, it } from "vitest";
import { ChangeLog, createLogger, type LogLevel } from "./index.ts";

function captured(level: LogLevel = "info") {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    level,
    program: "operator",
    destination: { write: (line) => lines.push(JSON.parse(line)) },
  });
  return { changes: new ChangeLog(log), taken: () => lines.splice(0) };
}

const NODES = Array.from({ length: 5000 }, (_, index) => `node-${index}`);

describe("ChangeLog", () => {
  it("X-61 writes no line per node at info: 5,000 nodes, one line per subject and only when something changed", () => {
    const { changes, taken } = captured("info");
    const tick = (ecoFrom: number): Record<string, unknown>[] => {
      for (const [index, node] of NODES.entries()) {
        changes.observe("profile", node, index >= ecoFrom ? "eco" : "performance");
        changes.observe("backend", node, "rapl");
      }
      changes.flush();
      return taken();
    };
    expect(tick(2000)).toMatchObject([
      {
        level: "info",
        subject: "profile",
        changed: 5000,
        values: { eco: 3000, performance: 2000 },
        nodes: {
          eco: "node-2000, node-2001, node-2002 and 2997 more",
          performance: "node-0, node-1, node-2 and 1997 more",
        },
        msg: "profile changed on 5000 nodes",
      },
      { subject: "backend", changed: 5000, values: { rapl: 5000 } },
    ]);
    expect(tick(2000)).toEqual([]);
    expect(tick(2000)).toEqual([]);
    expect(tick(2001)).toMatchObject([
      { subject: "profile", changed: 1, nodes: { performance: "node-2000" }, msg: "profile changed on 1 node" },
    ]);
    expect(tick(2001)).toEqual([]);
  });

  it("X-61 names each changed node at debug, and still only when it changed", () => {
    const { changes, taken } = captured("debug");
    const tick = (value: string, count: number): Record<string, unknown>[] => {
      for (const [index, node] of NODES.entries()) changes.observe("profile", node, index < count ? value : "eco");
      changes.flush();
      return taken();
    };
    expect(tick("eco", 0)).toHaveLength(5001);
    expect(tick("eco", 0)).toEqual([]);
    expect(tick("performance", 2)).toMatchObject([
      { level: "debug", subject: "profile", node: "node-0", from: "eco", to: "performance" },
      { level: "debug", subject: "profile", node: "node-1", from: "eco", to: "performance" },
      { level: "info", changed: 2 },
    ]);
  });

  it("uses the last value of a pass: changing back is no change", () => {
    const { changes, taken } = captured();
    changes.observe("guard", "a", "active");
    changes.flush();
    taken();
    changes.observe("guard", "a", "draining");
    changes.observe("guard", "a", "active");
    changes.flush();
    expect(taken()).toEqual([]);
  });

  it("keeps a line short however many values there are", () => {
    const { changes, taken } = captured();
    for (const node of NODES) changes.observe("cap", node, `${node} W`);
    changes.flush();
    const [line] = taken();
    expect(line).toMatchObject({ changed: 5000, otherValues: 4992 });
    expect(JSON.stringify(line).length).toBeLessThan(1000);
  });

  it("accepts names of JavaScript prototype properties", () => {
    const { changes, taken } = captured();
    changes.observe("profile", "__proto__", "__proto__");
    changes.observe("constructor", "toString", "hasOwnProperty");
    changes.flush();
    expect(taken()).toHaveLength(2);
    changes.flush();
    expect(taken()).toEqual([]);
  });

  it("writes nothing for an empty pass, and keeps its state", () => {
    const { changes, taken } = captured();
    changes.flush();
    changes.observe("profile", "a", "eco");
    changes.flush();
    taken();
    for (let pass = 0; pass < 50; pass++) changes.flush();
    changes.observe("profile", "a", "eco");
    changes.flush();
    expect(taken()).toEqual([]);
  });

  it("drops a node that left: the same name is logged again", () => {
    const { changes, taken } = captured();
    changes.observe("profile", "a", "eco");
    changes.observe("backend", "a", "rapl");
    changes.flush();
    taken();
    changes.forget("a");
    expect(changes.size).toBe(0);
    changes.observe("profile", "a", "eco");
    changes.flush();
    expect(taken()).toMatchObject([{ subject: "profile", changed: 1 }]);
  });

  it("ignores a gap of a few passes and drops the node after a long one", () => {
    const { changes, taken } = captured();
    const pass = (...nodes: string[]): Record<string, unknown>[] => {
      for (const node of nodes) changes.observe("profile", node, "eco");
      changes.flush();
      return taken();
    };
    pass("a", "b");
    for (let gap = 0; gap < 9; gap++) pass("b");
    expect(pass("a", "b")).toEqual([]);
    for (let gap = 0; gap < 10; gap++) pass("b");
    expect(changes.size).toBe(1);
    expect(pass("a", "b")).toMatchObject([{ changed: 1, nodes: { eco: "a" } }]);
  });

  it("keeps memory bounded while nodes are replaced under new names", () => {
    const { changes } = captured("silent");
    for (let pass = 0; pass < 200; pass++) {
      for (let index = 0; index < 10; index++) changes.observe("profile", `${pass}-${index}`, "eco");
      changes.flush();
    }
    expect(changes.size).toBeLessThanOrEqual(100);
  });
});
