import { describe, expect, it } from "vitest";
import { closingLines, countOf, isGood, sum } from "./count.ts";

const report = (numPassedTests: number, numFailedTests: number) => ({
  numPassedTests,
  numFailedTests,
  numPendingTests: 1,
  numTodoTests: 2,
});

describe("counting tests", () => {
  it("takes the runner's figures", () => {
    expect(countOf(report(5, 0), 0)).toEqual({ passed: 5, failed: 0, skipped: 3 });
    expect(countOf(report(5, 2), 1)).toEqual({ passed: 5, failed: 2, skipped: 3 });
  });

  it("a runner that ends badly is a failure, even where no test failed", () => {
    expect(countOf(report(5, 0), 1).failed).toBe(1);
    expect(countOf(report(5, 0), null).failed).toBe(1);
    expect(countOf(undefined, 1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it("ends with the line others read, skipped tests told before it", () => {
    const total = sum([countOf(report(5, 0), 0), countOf(report(7, 1), 1)]);
    expect(closingLines(total)).toEqual(["6 skipped", "12 passed, 1 failed"]);
    expect(closingLines({ passed: 3, failed: 0, skipped: 0 })).toEqual(["3 passed, 0 failed"]);
  });

  it("nothing tested is not good", () => {
    expect(isGood({ passed: 0, failed: 0, skipped: 9 })).toBe(false);
    expect(isGood({ passed: 1, failed: 0, skipped: 9 })).toBe(true);
    expect(isGood({ passed: 9, failed: 1, skipped: 0 })).toBe(false);
  });
});
