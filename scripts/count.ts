/** Test results of one suite or of all. */
export interface TestCount {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** One text per failure that is known by name. The end of the run repeats them, because other output scrolls away. */
  readonly failures?: readonly string[];
}

/** The fields of vitest's JSON report that are read. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly VitestFile[];
}

interface VitestFile {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages?: readonly string[] | null;
  }[];
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
    failures: report?.testResults.flatMap(describeFailures) ?? [],
  };
}

/** Names each failed test of a file, with the start of its message; or the file, if it failed outside its tests. */
function describeFailures({ name, status, message, assertionResults }: VitestFile): string[] {
  const tests = assertionResults.filter((test) => test.status === "failed");
  if (tests.length === 0) return status === "failed" ? [`${name}${shorten([message])}`] : [];
  return tests.map((test) => `${name}: ${test.fullName}${shorten(test.failureMessages ?? [])}`);
}

const messageLines = 12;

const shorten = (messages: readonly string[]): string =>
  messages
    .flatMap((message) => message.split("\n"))
    .slice(0, messageLines)
    .map((line) => `\n    ${line.slice(0, 300)}`)
    .join("");

export const sumCounts = (counts: readonly TestCount[]): TestCount => ({
  passed: counts.reduce((total, { passed }) => total + passed, 0),
  failed: counts.reduce((total, { failed }) => total + failed, 0),
  skipped: counts.reduce((total, { skipped }) => total + skipped, 0),
  failures: counts.flatMap(({ failures }) => failures ?? []),
});

const namedFailures = 20;

/** The last lines of a run. The final line is always `N passed, N failed`, which other tools read. */
export const closingLines = ({ passed, failed, skipped, failures = [] }: TestCount): string[] => [
  ...failures.slice(0, namedFailures).map((failure) => `FAILED ${failure}`),
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
