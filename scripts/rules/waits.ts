import ts from "typescript";
import { isDeclaredAround } from "./scope.ts";
import { findDirectTimeAndRandom } from "./time.ts";

/** Files of the tests: they wait for events, on a virtual clock or with `eventually`. */
export const TEST_FILE = /\.test\.tsx?$|\/testing\/|^test\/.*\.ts$/;

/** Files that may use real time, with the reason. */
const ALLOWED: Readonly<Record<string, string>> = {
  "src/platform/clock/testing/eventually.ts": "the one wait with a bound",
  "test/cluster/fast-clock.ts": "a clock itself",
  "test/controlplane/build.ts": "waits for a compiler of another process, and says how long it took",
  "test/realnode/leftovers.ts": "no test: `npm test` gives processes that end a time limit",
  "test/realnode/run-one-pod.ts": "a program that lives until it is killed",
  "test/rights/run.ts":
    "an outcome that never comes is what the test looks for: the limit is a multiple of an earlier run",
};
/** Tests of the clocks and of these rules name what the others may not. */
const ALLOWED_FOLDERS = /^(src\/platform\/clock\/[^/]+\.test\.ts|scripts\/rules\/[^/]+\.test\.ts)$/;

/** The suites' own timeout. A shorter one is a measure of speed. */
const MIN_TEST_TIMEOUT_MS = 300_000;
const MIN_BOUND_MS = 180_000;

const WAITS_OF_VITEST = new Set(["waitFor", "waitUntil"]);
const REAL_TIME = new Set(["sleep", "after", "monotonic"]);
const TEST_FUNCTION = /^(it|test|describe|beforeAll|beforeEach|afterAll|afterEach)$/;
/** Waits in the text of a script that a test starts. A sleep of a minute or more is a hang on purpose. */
const WAIT_IN_TEXT = /\bsetTimeout\(|\bsystemClock\.(sleep|after)\b|\bsleep (\d{0,2}\.\d|\d\b|[1-5]\d\b)/;

/**
 * Finds waits for real time in tests: sleeps, timers, measured time, polls with a bound that a busy machine misses. Such a test
 * fails when its process is slow, or passes although nothing happened yet.
 */
export function findWaits(path: string, text: string): string[] {
  if (ALLOWED[path] !== undefined || ALLOWED_FOLDERS.test(path)) return [];
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  // `npm run check` looks for direct access to time in all files of src.
  const found = path.startsWith("src/") ? [] : timeIn(path, text);
  const report = (node: ts.Node, what: string) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    found.push(`${path}:${line + 1}: ${what}`);
  };
  const systemClocks = new Set(["systemClock"]);

  const visit = (node: ts.Node): void => {
    if (
      ts.isVariableDeclaration(node) &&
      ts.isIdentifier(node.name) &&
      node.initializer?.getText(file) === "systemClock"
    )
      systemClocks.add(node.name.text);
    if (ts.isPropertyAccessExpression(node)) {
      const [owner, property] = [node.expression.getText(file), node.name.text];
      if (owner === "vi" && WAITS_OF_VITEST.has(property)) report(node, `vi.${property}; use eventually`);
      if (systemClocks.has(owner) && REAL_TIME.has(property)) report(node, `${owner}.${property} waits for real time`);
    }
    if (ts.isCallExpression(node)) visitCall(node);
    if (ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node)) {
      const wait = WAIT_IN_TEXT.exec(node.text)?.[0];
      if (wait !== undefined) report(node, `"${wait.trim()}" in the text of a script`);
    }
    ts.forEachChild(node, visit);
  };

  const visitCall = (call: ts.CallExpression): void => {
    const limit = call.arguments.map((argument) => numberIn(argument, file)).find((length) => length !== undefined);
    if (limit !== undefined && limit < MIN_TEST_TIMEOUT_MS && TEST_FUNCTION.test(calledName(call, file))) {
      report(call, `a timeout of ${limit} ms, below that of the suite`);
    }
    if (!ts.isPropertyAccessExpression(call.expression) || call.expression.name.text !== "poll") return;
    const timeout = /timeout: ([\w*. ]+)/.exec(call.arguments[1]?.getText(file) ?? "")?.[1]?.trim();
    if (timeout !== undefined && !(Number(timeout.replaceAll("_", "")) >= MIN_BOUND_MS)) {
      report(call, `a poll with the bound ${timeout}; leave it out, the suite's is generous`);
    }
  };
  visit(file);
  return found;
}

/** Direct access to time and timers. An interval that keeps a child process alive is in the text of a script, so it is not found. */
const timeIn = (path: string, text: string): string[] =>
  findDirectTimeAndRandom(path, text)
    .filter((finding) => !/new Date\(\)|Math\.random|as a whole/.test(finding))
    .map((finding) => finding.replace(" outside platform/clock", " in a test"));

/** `it` for `it(…)`, `it.each(…)(…)` and `it.skipIf(…)(…)`. */
function calledName(call: ts.CallExpression, file: ts.SourceFile): string {
  let callee: ts.Expression = call.expression;
  while (!ts.isIdentifier(callee)) {
    if (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) callee = callee.expression;
    else if (ts.isTaggedTemplateExpression(callee)) callee = callee.tag;
    else return "";
  }
  return isDeclaredAround(callee) && !/from "vitest"/.test(file.text) ? "" : callee.text;
}

/** The timeout of a test as a number: `60_000` or `{ timeout: 60_000 }`. */
function numberIn(argument: ts.Expression, file: ts.SourceFile): number | undefined {
  if (ts.isNumericLiteral(argument)) return Number(argument.text);
  if (!ts.isObjectLiteralExpression(argument)) return undefined;
  const timeout = /^\{ timeout: ([\d_]+)/.exec(argument.getText(file))?.[1];
  return timeout === undefined ? undefined : Number(timeout.replaceAll("_", ""));
}
