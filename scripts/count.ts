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

/** What `closingLines` wrote at the end of a run; a run that ended without them counts as one failure. */
export function countFromLines(output: string): TestCount {
  const [, skipped = "0", passed, failed] =
    /(?:^(\d+) skipped\n)?^(\d+) passed, (\d+) failed\s*$(?![^])/m.exec(output) ?? [];
  if (passed === undefined || failed === undefined) return { passed: 0, failed: 1, skipped: 0 };
  return { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) };
}

/** A run without tests does not pass. */
export const allPassed = ({ passed, failed }: TestCount): boolean => failed === 0 && passed > 0;
