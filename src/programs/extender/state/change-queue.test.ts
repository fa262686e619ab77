import { expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { ChangeQueue } from "./change-queue.ts";

function backlogOf(took = 0) {
  const clock = new VirtualClock();
  const done: number[] = [];
  const errors: unknown[] = [];
  const backlog = new ChangeQueue(clock, (error) => errors.push(error));
  const works = (...numbers: readonly number[]) =>
    numbers.map((number) => () => {
      clock.advance(milliseconds(took));
      if (number < 0) throw new Error(`no ${number}`);
      done.push(number);
    });
  return { clock, done, errors, backlog, works };
}

it("runs a few changes synchronously", () => {
  const { backlog, works, done } = backlogOf();
  backlog.add(works(1, 2, 3));
  expect([done, backlog.isIdle]).toEqual([[1, 2, 3], true]);
});

it("runs many changes in time slices and in order, with later ones at the end", async () => {
  const { backlog, works, done, clock } = backlogOf(0.4);
  backlog.add(works(1, 2, 3, 4, 5));
  expect(done).toEqual([1, 2, 3]);
  backlog.add(works(6, 7));
  expect([done.length, backlog.isIdle]).toEqual([3, false]);
  await clock.advanceAsync(milliseconds(0));
  expect([done, backlog.isIdle]).toEqual([[1, 2, 3, 4, 5, 6], false]);
  await clock.advanceAsync(milliseconds(0));
  expect([done, backlog.isIdle]).toEqual([[1, 2, 3, 4, 5, 6, 7], true]);
  backlog.add(works(8));
  expect(done.at(-1)).toBe(8);
});

it("a change that throws does not affect the others", () => {
  const { backlog, works, done, errors } = backlogOf();
  backlog.add(works(1, -2, 3));
  expect([done, errors]).toEqual([[1, 3], [new Error("no -2")]]);
});

it("does not run changes after clear", async () => {
  const { backlog, works, done, clock } = backlogOf(1);
  backlog.add(works(1, 2, 3));
  backlog.clear();
  await clock.advanceAsync(milliseconds(10));
  expect([done, backlog.isIdle, clock.waiting]).toEqual([[1], true, 0]);
});
