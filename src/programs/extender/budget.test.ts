import * as fc from "fast-check";
import { expect, it } from "vitest";
import { ByteBudget, NoRoomError } from "./budget.ts";

const { signal } = new AbortController();

it("gives room in the order of asking, so that a large request is not overtaken for ever", async () => {
  const budget = new ByteBudget(100, 10);
  await budget.take(60, signal);
  const order: string[] = [];
  const large = budget.take(80, signal).then(() => order.push("large"));
  const small = budget.take(10, signal).then(() => order.push("small"));
  expect(budget.waiting).toBe(2);
  budget.give(60);
  await Promise.all([large, small]);
  expect(order).toEqual(["large", "small"]);
  expect(budget.held).toBe(90);
});

it("turns away who finds the line full, and what never fits", async () => {
  const budget = new ByteBudget(100, 1);
  await budget.take(100, signal);
  const waiting = budget.take(1, signal);
  await expect(budget.take(1, signal)).rejects.toThrow(NoRoomError);
  await expect(budget.take(101, signal)).rejects.toThrow(RangeError);
  budget.give(100);
  await waiting;
});

it("who leaves the line makes way for those behind", async () => {
  const budget = new ByteBudget(100, 10);
  await budget.take(50, signal);
  const leaving = new AbortController();
  const large = budget.take(100, leaving.signal);
  const small = budget.take(50, signal);
  leaving.abort(new Error("gone"));
  await expect(large).rejects.toThrow("gone");
  await small;
  expect([budget.held, budget.waiting]).toEqual([100, 0]);
  await expect(budget.take(1, leaving.signal)).rejects.toThrow("gone");
});

it("never holds more than it may, and everybody who stays gets in", async () => {
  const sizes = fc.array(fc.record({ bytes: fc.integer({ min: 0, max: 100 }), leaves: fc.boolean() }), {
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(sizes, async (asked) => {
      const budget = new ByteBudget(100, 40);
      let entered = 0;
      await Promise.all(
        asked.map(async ({ bytes, leaves }) => {
          const client = new AbortController();
          const room = budget.take(bytes, client.signal);
          if (leaves) client.abort(new Error("gone"));
          try {
            await room;
          } catch {
            return;
          }
          entered++;
          expect(budget.held).toBeLessThanOrEqual(100);
          await Promise.resolve();
          budget.give(bytes);
        }),
      );
      expect([budget.held, budget.waiting]).toEqual([0, 0]);
      expect(entered).toBeGreaterThanOrEqual(asked.filter(({ leaves }) => !leaves).length);
    }),
  );
});
