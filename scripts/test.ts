// npm test: every suite in turn; the last line of the whole run is `N passed, N failed` over all of them.
// `npm run test:unit [-- FILE…]` runs one suite, and of it the files named.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { locateControlPlane } from "../test/controlplane/build.ts";
import { runChecks } from "./rules/checks.ts";

interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

const clusterConfig = "vitest.cluster.config.ts";
const suites: Record<string, (args: string[]) => Promise<Count>> = {
  check: async () => ({ ...(await runChecks()), skipped: 0 }),
  unit: async (args) => vitest("vitest.config.ts", args),
  cluster: async (args) => {
    const binary = await locateControlPlane();
    return binary.available ? vitest(clusterConfig, args) : withoutCluster(binary.reason);
  },
};

const [only, ...args] = process.argv.slice(2);
if (only !== undefined && !(only in suites)) {
  console.error(`joulie: there is no suite "${only}"; there are: ${Object.keys(suites).join(", ")}`);
  process.exit(2);
}

const total: Count = { passed: 0, failed: 0, skipped: 0 };
for (const [name, run] of Object.entries(suites)) {
  if (only !== undefined && name !== only) continue;
  console.log(`\n── ${name} ──`);
  const count = await run(args);
  total.passed += count.passed;
  total.failed += count.failed;
  total.skipped += count.skipped;
}
console.log(`\n${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ""}`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

async function vitest(config: string, extra: string[]): Promise<Count> {
  const folder = mkdtempSync(join(tmpdir(), "joulie-test-"));
  const report = join(folder, "report.json");
  try {
    const { status } = spawnSync(
      "vitest",
      ["run", "--config", config, "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...extra],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    return countOf(readReport(report), status);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What cannot run here is said aloud and counted by file: skipped, or failed where everything has to run. */
function withoutCluster(reason: string): Count {
  const list = ["list", "--filesOnly", "--config", clusterConfig];
  const files = spawnSync("vitest", list, { encoding: "utf8" }).stdout.trimEnd().split("\n");
  console.log(`SKIPPED, all tests on a real Kubernetes control plane: ${reason}`);
  for (const file of files) console.log(`SKIPPED ${file}`);
  const mustRun = process.env["CI"] === "true";
  if (mustRun) console.log("with CI=true that is a failure");
  return { passed: 0, failed: mustRun ? files.length : 0, skipped: mustRun ? 0 : files.length };
}

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
}

function readReport(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Report;
  } catch {
    return undefined;
  }
}

/** A runner that ended badly without a failed test (a file that does not load, a crash) is one failure. */
function countOf(report: Report | undefined, status: number | null): Count {
  const failed = report?.numFailedTests ?? 0;
  return {
    passed: report?.numPassedTests ?? 0,
    failed: failed === 0 && status !== 0 ? 1 : failed,
    skipped: (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0),
  };
}
