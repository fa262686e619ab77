import { describe, expect, it } from "vitest";
import { type ConnectionFacts, evictionOrder } from "./connection-limiter.ts";

const NOW = 100_000;
interface Named extends ConnectionFacts {
  readonly name: string;
}
const connection = (name: string, facts: Partial<ConnectionFacts> = {}): Named => ({
  name,
  openedAt: NOW - 5000,
  usedAt: NOW - 5000,
  isProven: false,
  hasSent: false,
  request: "none",
  ...facts,
});
const names = (connections: readonly Named[]) => connections.map(({ name }) => name);

describe("X-62 the eviction order of connections", () => {
  it("sorts connections by their state", () => {
    const young = { openedAt: NOW - 500, usedAt: NOW - 500 };
    const { expendable, reserved } = evictionOrder(
      [
        connection("busy client", { request: "receiving", isProven: true, usedAt: NOW - 10 }),
        connection("being answered", { request: "answering" }),
        connection("idle, asked lately", { isProven: true, usedAt: NOW - 100 }),
        connection("young, sends its body", { ...young, request: "receiving", hasSent: true }),
        connection("young, has begun", { ...young, hasSent: true }),
        connection("young", young),
        connection("stalled body", { request: "receiving", hasSent: true }),
        connection("idle, asked long ago", { isProven: true }),
        connection("silent"),
      ],
      NOW,
      1,
    );
    expect(names(expendable)).toEqual([
      "silent",
      "idle, asked long ago",
      "stalled body",
      "young",
      "young, has begun",
      "young, sends its body",
    ]);
    expect(names(reserved)).toEqual(["idle, asked lately", "being answered", "busy client"]);
  });

  it("closes the oldest silent, the least recently used idle and the newest answering connections first", () => {
    const pair = (name: string, facts: Partial<ConnectionFacts>) => [
      connection(`${name} 2`, { ...facts, openedAt: NOW - 8000, usedAt: NOW - 8000 }),
      connection(`${name} 1`, { ...facts, openedAt: NOW - 9000, usedAt: NOW - 9000 }),
    ];
    const all = [...pair("silent", {}), ...pair("idle", { isProven: true }), ...pair("busy", { request: "answering" })];
    const { expendable, reserved } = evictionOrder(all, NOW, 0);
    expect(names([...expendable, ...reserved])).toEqual([
      "silent 1",
      "silent 2",
      "idle 1",
      "idle 2",
      "busy 2",
      "busy 1",
    ]);
  });

  it("keeps idle connections that fit into the reserve", () => {
    const idle = Array.from({ length: 3 }, (_, i) => connection(`${i}`, { isProven: true, usedAt: NOW - i }));
    expect(names(evictionOrder(idle, NOW, 3).expendable)).toEqual([]);
    expect(names(evictionOrder(idle, NOW, 2).expendable)).toEqual(["2"]);
  });
});
