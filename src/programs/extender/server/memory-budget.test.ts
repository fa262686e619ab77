import * as fc from "fast-check";
import { expect, it } from "vitest";
import { type LeaseRequest, MemoryBudget, MemoryBudgetError, type MemoryLease } from "./memory-budget.ts";

const { signal } = new AbortController();
const fresh = (bytes: number): LeaseRequest => ({ bytes, isProven: false });
const proven = (bytes: number): LeaseRequest => ({ bytes, isProven: true });
/** A request whose body is complete. */
async function whole(budget: MemoryBudget, bytes: number) {
  const room = await budget.acquire(fresh(bytes), signal);
  room.reserve(bytes);
  return room;
}

function holdOrNot(room: MemoryLease, bytes: number): void {
  try {
    room.reserve(bytes);
  } catch (error) {
    if (!(error instanceof MemoryBudgetError)) throw error;
  }
}

it("grants leases in order, so that a large request does not starve", async () => {
  const budget = new MemoryBudget(100, 10);
  const first = await whole(budget, 60);
  const order: string[] = [];
  const large = whole(budget, 80).then(() => order.push("large"));
  const less = whole(budget, 10).then(() => order.push("less"));
  expect(budget.waiting).toBe(2);
  first.release();
  await Promise.all([large, less]);
  expect(order).toEqual(["large", "less"]);
  expect(budget.held).toBe(90);
});

it("X-62 a large body reserves no memory before its bytes arrive", async () => {
  const budget = new MemoryBudget(100, 10);
  const idle = await budget.acquire(fresh(100), signal);
  const room = await whole(budget, 100);
  expect(() => idle.reserve(1)).toThrow(MemoryBudgetError);
  idle.release();
  room.release();
  expect(budget.held).toBe(0);
});

it("X-62 large bodies leave memory for small ones, and small ones wait only for each other", async () => {
  const budget = new MemoryBudget(1600, 10);
  const large = await whole(budget, 1600);
  const behind = budget.acquire(fresh(1000), signal);
  const small = await Promise.all([1, 2, 3, 4].map(async () => budget.acquire(fresh(25), signal)));
  expect([budget.held, budget.waiting]).toEqual([1600, 1]);
  // A small request reserves its announced length, so none is rejected halfway.
  const fifth = budget.acquire(fresh(25), signal);
  expect(budget.waiting).toBe(2);
  for (const room of small) room.reserve(25);
  // Its answer fits as well.
  small[0]?.reserveAnswer(100);
  expect(() => small[0]?.reserveAnswer(1)).toThrow(MemoryBudgetError);
  small[0]?.release();
  await fifth;
  large.release();
  await behind;
});

it("X-62 a body of unknown length counts as small only while it is small", async () => {
  const budget = new MemoryBudget(1600, 10);
  await whole(budget, 1590);
  const room = await budget.acquire(fresh(0), signal);
  room.reserve(20);
  expect(() => room.reserve(6)).toThrow(MemoryBudgetError);
});

it("X-62 connections that completed requests before have their own reserve", async () => {
  const budget = new MemoryBudget(1600, 10);
  await whole(budget, 1600);
  const next = await budget.acquire(proven(800), signal);
  next.reserve(800);
  expect(budget.tryAcquire(proven(800))).toBeUndefined();
  expect(budget.tryAcquire(fresh(25))).toBeUndefined();
  expect(budget.tryAcquire(proven(25))).toBeDefined();
});

it("X-62 connections that completed requests before do not wait behind those that did not", async () => {
  const budget = new MemoryBudget(1600, 10);
  await whole(budget, 1600);
  const strangers = [budget.acquire(fresh(1000), signal), budget.acquire(fresh(1000), signal)];
  const known = budget.tryAcquire(proven(800));
  expect(known).toBeDefined();
  known?.reserve(800);
  // Among themselves they keep their order, and use the memory that one of them releases.
  const order: string[] = [];
  const large = budget.acquire(proven(800), signal).then(() => order.push("large"));
  const less = budget.acquire(proven(100), signal).then(() => order.push("less"));
  expect(budget.waiting).toBe(4);
  known?.release();
  await Promise.all([large, less]);
  expect(order).toEqual(["large", "less"]);
  expect(budget.waiting).toBe(strangers.length);
});

it("X-62 smaller requests preempt the largest body being received; larger and equal ones do not", async () => {
  const budget = new MemoryBudget(1600, 10);
  const cut: string[] = [];
  const receiving = async (name: string, entrant: LeaseRequest) => {
    const room = await budget.acquire(entrant, signal);
    room.onPreempt(() => cut.push(name));
    return room;
  };
  const large = await receiving("large", fresh(800));
  const known = await receiving("known", proven(1200));
  const less = await receiving("less", fresh(400));
  const like = await receiving("like", fresh(400));
  large.reserve(700);
  known.reserve(500);
  less.reserve(390);
  like.reserve(100);
  expect([cut, budget.held]).toEqual([["large"], 990]);
  like.reserve(300);
  expect(() => like.reserve(400)).toThrow(MemoryBudgetError);
  // Its body is complete.
  known.onPreempt(undefined);
  for (const room of [large, less, like, known]) room.release();
  expect([cut, budget.held]).toEqual([["large"], 0]);
});

it("rejects a request when the queue is full, and one that can never fit", async () => {
  const budget = new MemoryBudget(100, 1);
  const room = await whole(budget, 100);
  const waiting = whole(budget, 10);
  await expect(budget.acquire(fresh(10), signal)).rejects.toThrow(MemoryBudgetError);
  await expect(budget.acquire(fresh(101), signal)).rejects.toThrow(RangeError);
  room.release();
  await waiting;
});

it("a request that leaves the queue unblocks those behind it", async () => {
  const budget = new MemoryBudget(100, 10);
  await whole(budget, 50);
  const leaving = new AbortController();
  const large = budget.acquire(fresh(100), leaving.signal);
  const less = whole(budget, 50);
  leaving.abort(new Error("gone"));
  await expect(large).rejects.toThrow("gone");
  await less;
  expect([budget.held, budget.waiting]).toEqual([100, 0]);
  await expect(budget.acquire(fresh(1), leaving.signal)).rejects.toThrow("gone");
});

it("never exceeds the limit, and grants every request that keeps waiting", async () => {
  const sizes = fc.array(
    fc.record({ bytes: fc.integer({ min: 0, max: 200 }), leaves: fc.boolean(), comes: fc.boolean() }),
    { maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(sizes, async (asked) => {
      const budget = new MemoryBudget(200, 40);
      let entered = 0;
      await Promise.all(
        asked.map(async ({ bytes, leaves, comes }) => {
          const client = new AbortController();
          const asking = budget.acquire(fresh(bytes), client.signal);
          if (leaves) client.abort(new Error("gone"));
          const room = await asking.catch(() => undefined);
          if (room === undefined) return;
          entered++;
          if (comes) holdOrNot(room, bytes);
          expect(budget.held).toBeLessThanOrEqual(200 + 12.5);
          await Promise.resolve();
          room.release();
        }),
      );
      expect([budget.held, budget.waiting]).toEqual([0, 0]);
      expect(entered).toBeGreaterThanOrEqual(asked.filter(({ leaves }) => !leaves).length);
    }),
  );
});
