import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { agentHeartbeat } from "../../../core/twin/index.ts";
import { instant, milliseconds, watts } from "../../../core/units/index.ts";
import { isHeartbeatDue, isWorthPublishing, type NodeStatus } from "./node-status.ts";

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
  it("X-10 at least once per heartbeat, for every interval", () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: agentHeartbeat }), (interval) => {
        let published = status(0);
        let longest = 0;
        for (let at = interval; at < 10 * agentHeartbeat; at += interval) {
          const next = status(at);
          if (!isHeartbeatDue(published, next, milliseconds(interval))) continue;
          longest = Math.max(longest, next.at - published.at);
          published = next;
        }
        expect(longest).toBeLessThanOrEqual(agentHeartbeat);
        // Not twice as often as necessary.
        expect(longest).toBeGreaterThan(agentHeartbeat / 2 - interval);
      }),
    );
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
    expect(isWorthPublishing(before, after)).toBe(expected);
  });
});
