import { expect, it } from "vitest";
import { memoize } from "./memoize.ts";

it("computes again for another object or another argument", () => {
  let calls = 0;
  const sum = memoize((one: { readonly value: number }, other: number | undefined) => {
    calls++;
    return one.value + (other ?? 0);
  });
  const three = { value: 3 };
  expect([sum(three, 1), sum(three, 1), calls]).toEqual([4, 4, 1]);
  expect([sum(three, undefined), sum(three, 2), calls]).toEqual([3, 5, 3]);
  expect([sum({ value: 3 }, 2), calls]).toEqual([5, 4]);
});
