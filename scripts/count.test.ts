import { describe, expect, it } from "vitest";
import { allPassed, closingLines, countOfChild, countTests, sumCounts } from "./count.ts";

const report = (numPassedTests: number, numFailedTests: number) => ({
  numPassedTests,
  numFailedTests,
  numPendingTests: 1,
  numTodoTests: 2,
  testResults: [],
});
const failures: string[] = [];

describe("counting tests", () => {
  it("uses the figures of the runner", () => {
    expect(countTests(report(5, 0), 0)).toEqual({ passed: 5, failed: 0, skipped: 3, failures });
    expect(countTests(report(5, 2), 1)).toEqual({ passed: 5, failed: 2, skipped: 3, failures });
  });

  it("counts a failed runner as a failure, even if no test failed", () => {
    expect(countTests(report(5, 0), 1).failed).toBe(1);
    expect(countTests(report(5, 0), null).failed).toBe(1);
    expect(countTests(undefined, 1)).toEqual({ passed: 0, failed: 1, skipped: 0, failures });
  });

  it("ends with the line that other tools read, after the skipped tests", () => {
    const total = sumCounts([countTests(report(5, 0), 0), countTests(report(7, 1), 1)]);
    expect(closingLines(total)).toEqual(["6 skipped", "12 passed, 1 failed"]);
    expect(closingLines({ passed: 3, failed: 0, skipped: 0 })).toEqual(["3 passed, 0 failed"]);
  });

  it("names at the end the tests that failed and the files that did not load, with the start of each message", () => {
    const test = (fullName: string, status: string, ...failureMessages: string[]) => ({
      fullName,
      status,
      failureMessages,
    });
    const lines = Array.from({ length: 50 }, (_, line) => `line ${line}`).join("\n");
    const testResults = [
      {
        name: "a.test.ts",
        status: "failed",
        message: "",
        assertionResults: [test("is good", "passed"), test("is bad", "failed", lines)],
      },
      { name: "b.test.ts", status: "failed", message: "no such module", assertionResults: [] },
      { name: "c.test.ts", status: "passed", message: "", assertionResults: [test("is good", "passed")] },
    ];
    const closing = closingLines(sumCounts([countTests({ ...report(2, 1), testResults }, 1)]));
    expect(closing).toEqual([
      expect.stringMatching(/^FAILED a\.test\.ts: is bad\n {4}line 0\n(.*\n)*.*line 11$/),
      "FAILED b.test.ts\n    no such module",
      "3 skipped",
      "2 passed, 1 failed",
    ]);
  });

  it("takes the counts that a child sent, if its exit code agrees with them", () => {
    const passed = { passed: 49, failed: 0, skipped: 0 };
    const failed = { passed: 3, failed: 2, skipped: 7 };
    const skipped = { passed: 0, failed: 0, skipped: 5 };
    expect(countOfChild(passed, 0)).toEqual(passed);
    expect(countOfChild(failed, 1)).toEqual(failed);
    // Where no test can run, the run does not pass, but none has failed.
    expect(countOfChild(skipped, 1)).toEqual(skipped);
  });

  it("counts a child that ended otherwise, or sent no counts, as a failure", () => {
    const passed = { passed: 49, failed: 0, skipped: 0 };
    for (const code of [1, null]) expect(countOfChild(passed, code)).toEqual({ ...passed, failed: 1 });
    for (const sent of [undefined, null, "49 passed", {}, { ...passed, failed: Number.NaN }])
      expect(countOfChild(sent, 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it("treats a run without tests as not passed", () => {
    expect(allPassed({ passed: 0, failed: 0, skipped: 9 })).toBe(false);
    expect(allPassed({ passed: 1, failed: 0, skipped: 9 })).toBe(true);
    expect(allPassed({ passed: 9, failed: 1, skipped: 0 })).toBe(false);
  });
});
