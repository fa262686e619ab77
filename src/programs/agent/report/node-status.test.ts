import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { agentHeartbeat } from "../../../core/twin/index.ts";
import { instant, milliseconds, watts } from "../../../core/units/index.ts";
import { isHeartbeatDue, isStatusWorthPublishing, type NodeStatus } from "./node-status.ts";

const status = (at: number, power?: number, more: Partial<NodeStatus["cpu"]> = {}): NodeStatus => ({
  at: instant(at),
  cpu: {
    backend: "rapl",
    result: "applied",
    message: "210 W per package",
    ...(power !== undefined && { power: watts(power) }),
    ...more,
  },
});

describe("when to publish the status", () => {
  /** Times at which an unchanged status of a node is written, with a tick per interval. */
  const writes = (node: string, first: number, interval: number, until: number): number[] => {
    const times = [first];
    for (let at = first + interval; at < first + until; at += interval) {
      const published = status(times.at(-1) ?? 0);
      if (isHeartbeatDue(node, published, status(at), milliseconds(interval))) times.push(at);
    }
    return times;
  };
  const names = Array.from({ length: 700 }, (_, index) => `node-${index}`);

  it("X-10 at least once per heartbeat and not more often than necessary, for every interval and node", () => {
    const interval = fc.integer({ min: 100, max: agentHeartbeat });
    fc.assert(
      fc.property(interval, fc.nat(1e9), fc.constantFrom(...names), (tick, first, node) => {
        const times = writes(node, first, tick, 20 * agentHeartbeat);
        const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
        expect(Math.max(...gaps)).toBeLessThanOrEqual(agentHeartbeat);
        const period = Math.floor(agentHeartbeat / tick) * tick;
        expect(times.length).toBeLessThanOrEqual((20 * agentHeartbeat) / period + 2);
      }),
    );
  });

  it("X-55 spread evenly over the nodes, although the first status of all of them was written at once", () => {
    const tick = 20_000;
    const perTick = Array<number>(7).fill(0);
    for (const [index, name] of names.entries()) {
      // From the second round on. Nodes tick at different times.
      for (const at of writes(name, (index * 997) % tick, tick, 420_000).filter((time) => time >= 280_000)) {
        const slot = Math.floor((at - 280_000) / tick);
        perTick[slot] = (perTick[slot] ?? 0) + 1;
      }
    }
    for (const count of perTick) {
      expect(count).toBeGreaterThan(60);
      expect(count).toBeLessThan(150);
    }
  });

  it.each([
    [status(0, 200), status(1, 201.9), false],
    [status(0, 200), status(1, 202), true],
    [status(0, 1000), status(1, 1004.9), false],
    [status(0, 1000), status(1, 1005), true],
    [status(0, 0), status(1, 0), false],
    [status(0, 0), status(1, 0.1), true],
    [status(0), status(1, 5), true],
    [status(0, 5), status(1), true],
    [status(0, 200), status(1, 200, { result: "error" }), true],
    [status(0, 200), status(1, 200, { message: "else" }), true],
    [status(0, 200), { ...status(1, 200), gpu: status(1).cpu }, true],
  ])("X-10 %o then %o: %s", (before, after, expected) => {
    expect(isStatusWorthPublishing(before, after)).toBe(expected);
  });
});
