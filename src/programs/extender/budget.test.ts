import * as fc from "fast-check";
import { expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/index.ts";
import { ByteBudget, NoRoomError, type Room } from "./budget.ts";

const { signal } = new AbortController();
const budgetOf = (total: number, line: number) => {
  const clock = new VirtualClock();
  return { clock, budget: new ByteBudget(total, line, clock) };
};
/** A request whose bytes are all here. */
async function whole(budget: ByteBudget, bytes: number) {
  const room = await budget.enter(bytes, signal);
  room.hold(bytes);
  return room;
}

function holdOrNot(room: Room, bytes: number): void {
  try {
    room.hold(bytes);
  } catch (error) {
    if (!(error instanceof NoRoomError)) throw error;
  }
}

it("gives room in the order of asking, so that a large request is not overtaken for ever", async () => {
  const { budget } = budgetOf(100, 10);
  const first = await whole(budget, 60);
  const order: string[] = [];
  const large = whole(budget, 80).then(() => order.push("large"));
  const less = whole(budget, 10).then(() => order.push("less"));
  expect(budget.waiting).toBe(2);
  first.leave();
  await Promise.all([large, less]);
  expect(order).toEqual(["large", "less"]);
  expect(budget.held).toBe(90);
});

it("X-62 who only announces bytes holds nobody up for longer than a moment", async () => {
  const { budget, clock } = budgetOf(100, 10);
  const idle = await budget.enter(100, signal);
  const next = budget.enter(100, signal);
  expect([budget.held, budget.waiting]).toEqual([0, 1]);
  clock.advance(milliseconds(249));
  expect(budget.waiting).toBe(1);
  clock.advance(milliseconds(1));
  const room = await next;
  room.hold(100);
  // The first one comes too late.
  expect(() => idle.hold(1)).toThrow(NoRoomError);
  idle.leave();
  room.leave();
  expect([budget.held, clock.waiting]).toEqual([0, 0]);
});

it("X-62 a small one waits neither for announced bytes nor behind those who do, but for bytes that are there", async () => {
  const { budget } = budgetOf(1000, 10);
  const announced = await budget.enter(1000, signal);
  const large = budget.enter(500, signal);
  const small = await whole(budget, 10);
  expect(budget.waiting).toBe(1);
  announced.hold(990);
  const waiting = whole(budget, 10);
  expect(budget.waiting).toBe(2);
  small.leave();
  await waiting;
  expect([budget.held, budget.waiting]).toEqual([1000, 1]);
  announced.leave();
  await large;
});

it("what is announced and comes in time has its room, and what comes on top of it counts as well", async () => {
  const { budget } = budgetOf(100, 10);
  const room = await budget.enter(60, signal);
  room.hold(30);
  const next = budget.enter(50, signal);
  expect(budget.waiting).toBe(1);
  room.hold(30);
  room.hold(40);
  expect(budget.held).toBe(100);
  room.leave();
  room.leave();
  expect(budget.held).toBe(0);
  await next;
});

it("turns away who finds the line full, and what never fits", async () => {
  const { budget } = budgetOf(100, 1);
  const room = await whole(budget, 100);
  const waiting = whole(budget, 1);
  await expect(budget.enter(1, signal)).rejects.toThrow(NoRoomError);
  await expect(budget.enter(101, signal)).rejects.toThrow(RangeError);
  room.leave();
  await waiting;
});

it("who leaves the line makes way for those behind", async () => {
  const { budget } = budgetOf(100, 10);
  await whole(budget, 50);
  const leaving = new AbortController();
  const large = budget.enter(100, leaving.signal);
  const less = whole(budget, 50);
  leaving.abort(new Error("gone"));
  await expect(large).rejects.toThrow("gone");
  await less;
  expect([budget.held, budget.waiting]).toEqual([100, 0]);
  await expect(budget.enter(1, leaving.signal)).rejects.toThrow("gone");
});

it("never holds more than it may, and everybody who stays gets in", async () => {
  const sizes = fc.array(
    fc.record({ bytes: fc.integer({ min: 0, max: 200 }), leaves: fc.boolean(), comes: fc.boolean() }),
    { maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(sizes, async (asked) => {
      const { budget, clock } = budgetOf(200, 40);
      let entered = 0;
      const all = Promise.all(
        asked.map(async ({ bytes, leaves, comes }) => {
          const client = new AbortController();
          const asking = budget.enter(bytes, client.signal);
          if (leaves) client.abort(new Error("gone"));
          const room = await asking.catch(() => undefined);
          if (room === undefined) return;
          entered++;
          if (comes) holdOrNot(room, bytes);
          expect(budget.held).toBeLessThanOrEqual(200);
          await Promise.resolve();
          room.leave();
        }),
      );
      await clock.advanceAsync(milliseconds(1000));
      await all;
      expect([budget.held, budget.waiting, clock.waiting]).toEqual([0, 0, 0]);
      expect(entered).toBeGreaterThanOrEqual(asked.filter(({ leaves }) => !leaves).length);
    }),
  );
});
