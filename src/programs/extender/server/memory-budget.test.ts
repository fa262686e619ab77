import * as fc from "fast-check";
import { beforeEach, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { MemoryBudget, MemoryBudgetError, type MemoryLease } from "./memory-budget.ts";

const MI = 1 << 20;
let clock: VirtualClock;
let ended: string[];
beforeEach(() => {
  clock = new VirtualClock();
  ended = [];
});

const open = (budget: MemoryBudget, name: string, bytes: number, isProven = false): MemoryLease =>
  budget.open({ bytes, isProven, abort: () => ended.push(name) });

it("X-62 an announced body reserves no memory before its bytes arrive", () => {
  const budget = new MemoryBudget(100, clock);
  open(budget, "announced", 100);
  const whole = open(budget, "whole", 100);
  whole.reserve(100);
  expect(budget.held).toBe(100);
  whole.release();
  expect(budget.held).toBe(0);
});

it("X-62 a request ends the largest one that is larger than itself, and fails if there is none", () => {
  const budget = new MemoryBudget(100, clock);
  open(budget, "larger", 30).reserve(30);
  open(budget, "largest", 60).reserve(60);
  const small = open(budget, "small", 20);
  small.reserve(20);
  expect([ended, budget.held]).toEqual([["largest"], 50]);
  const equal = open(budget, "equal", 60);
  expect(() => equal.reserve(60)).toThrow(MemoryBudgetError);
  expect([ended, budget.held]).toEqual([["largest"], 50]);
});

it("X-62 a connection that completed requests before ends those that did not, and is not ended by them", () => {
  const budget = new MemoryBudget(100, clock);
  open(budget, "stranger", 10).reserve(10);
  const proven = open(budget, "proven", 95, true);
  proven.reserve(95);
  expect(ended).toEqual(["stranger"]);
  expect(() => open(budget, "next", 10).reserve(10)).toThrow(MemoryBudgetError);
});

it("X-62 a request ends slow ones of any size, also of a connection that completed requests before", () => {
  const budget = new MemoryBudget(100 * MI, clock);
  open(budget, "stalled", 10 * MI).reserve(10 * MI);
  const trickling = open(budget, "trickling", 10 * MI, true);
  trickling.reserve(9 * MI);
  const steady = open(budget, "steady", 70 * MI);
  steady.reserve(68 * MI);
  for (let tenth = 0; tenth < 11; tenth++) {
    clock.advance(milliseconds(100));
    trickling.reserve(1);
    steady.reserve(120 * 1024);
  }
  open(budget, "new", 80 * MI).reserve(20 * MI);
  expect(ended).toEqual(["stalled"]);
  open(budget, "next", 80 * MI).reserve(10 * MI);
  expect(ended).toEqual(["stalled", "trickling"]);
});

it("X-62 never holds more than the budget, and holds nothing when all requests have ended", () => {
  const requests = fc.array(
    fc.record({ bytes: fc.nat(150), parts: fc.array(fc.nat(60), { maxLength: 4 }), isProven: fc.boolean() }),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(requests, (list) => {
      const budget = new MemoryBudget(200, new VirtualClock());
      const leases = list.map(({ bytes, parts, isProven }) => {
        const lease = budget.open({ bytes, isProven, abort: () => undefined });
        for (const part of parts) {
          reserveOrNot(lease, part);
          expect(budget.held).toBeLessThanOrEqual(200);
        }
        return lease;
      });
      for (const lease of leases) lease.release();
      expect(budget.held).toBe(0);
    }),
  );
});

function reserveOrNot(lease: MemoryLease, bytes: number): void {
  try {
    lease.reserve(bytes);
  } catch (error) {
    if (!(error instanceof MemoryBudgetError)) throw error;
  }
}
