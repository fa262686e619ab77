/** Test results of one suite or of all. */
export interface TestCount {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The fields of vitest's JSON report that are read. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
}

/**
 * A runner that fails without a failed test (a file that does not load, low coverage, a crash) counts as one failure.
 */
export function countTests(report: VitestReport | undefined, exitCode: number | null): TestCount {
  const failed = report?.numFailedTests ?? 0;
  return {
    passed: report?.numPassedTests ?? 0,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0),
  };
}

export const sumCounts = (counts: readonly TestCount[]): TestCount => ({
  passed: counts.reduce((total, { passed }) => total + passed, 0),
  failed: counts.reduce((total, { failed }) => total + failed, 0),
  skipped: counts.reduce((total, { skipped }) => total + skipped, 0),
});

/** The last lines of a run. The final line is always `N passed, N failed`, which other tools read. */
export const closingLines = ({ passed, failed, skipped }: TestCount): string[] => [
  ...(skipped > 0 ? [`${skipped} skipped`] : []),
  `${passed} passed, ${failed} failed`,
];

/**
 * The result of a run in a child process: the counts that it sent, and its exit code. A run that ended without counts, or with
 * another code than its counts explain, has one more failure.
 */
export function countOfChild(sent: unknown, exitCode: number | null): TestCount {
  if (!isCount(sent)) return { passed: 0, failed: 1, skipped: 0 };
  return exitCode === exitCodeOf(sent) ? sent : { ...sent, failed: sent.failed + 1 };
}

const isCount = (value: unknown): value is TestCount =>
  typeof value === "object" &&
  value !== null &&
  ["passed", "failed", "skipped"].every((key) => Number.isSafeInteger((value as Record<string, unknown>)[key]));

export const exitCodeOf = (count: TestCount): 0 | 1 => (allPassed(count) ? 0 : 1);

/** A run without tests does not pass. */
export const allPassed = ({ passed, failed }: TestCount): boolean => failed === 0 && passed > 0;
