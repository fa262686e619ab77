// npm test: runs all suites; the last line is `N passed, N failed` over all of them. `npm run test:unit [-- FILE…]`
// runs one suite, optionally only some files.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepareBrowser } from "../test/browser/requirements.ts";
import { locateControlPlane } from "../test/controlplane/build.ts";
import { removeDeadNodes } from "../test/realnode/leftovers.ts";
import { prepareMachine } from "../test/realnode/requirements.ts";
import {
  allPassed,
  closingLines,
  countFromLines,
  countTests,
  sumCounts,
  type TestCount,
  type VitestReport,
} from "./count.ts";
import { runChecks } from "./rules/checks.ts";
import { suiteOrder } from "./suite-order.ts";

const clusterConfig = "vitest.cluster.config.ts";
const nodeConfig = "vitest.realnode.config.ts";
const browserConfig = "vitest.browser.config.ts";
const suites: Record<string, (args: string[]) => Promise<TestCount>> = {
  check: async () => ({ ...(await runChecks()), skipped: 0 }),
  // Coverage slows every test down, and its threshold is for src/core: only the tests of src/core run with it.
  unit: async (args) =>
    args.length > 0
      ? vitest("vitest.config.ts", args)
      : sumCounts([
          await vitest("vitest.config.ts", ["--coverage", "src/core/"]),
          await vitest("vitest.config.ts", ["--exclude", "src/core/**"]),
        ]),
  browser: async (args) => {
    const browser = prepareBrowser();
    return browser.ready ? vitest(browserConfig, args) : skipped(browserConfig, "a browser", browser.reason);
  },
  cluster: async (args) => {
    const binary = await locateControlPlane();
    return binary.available
      ? vitest(clusterConfig, args)
      : skipped(clusterConfig, "a real Kubernetes control plane", binary.reason);
  },
  node: async (args) => {
    const binary = await locateControlPlane();
    const machine = binary.available ? prepareMachine() : { ready: false as const, reason: binary.reason };
    if (!machine.ready) return skipped(nodeConfig, "a real Kubernetes node", machine.reason);
    try {
      return await vitest(nodeConfig, args);
    } finally {
      // Containers and mounts outlive an interrupted test process.
      await removeDeadNodes(isInterrupted ? 15_000 : 0);
    }
  },
};

const [only, ...args] = process.argv.slice(2);
if (only !== undefined && !Object.hasOwn(suites, only)) {
  console.error(`joulie: there is no suite "${only}"; there are: ${Object.keys(suites).join(", ")}`);
  process.exit(2);
}

const running = new Set<ChildProcess>();
let isInterrupted = false;
// A terminal signals vitest as well; a signal sent to this process alone must be forwarded. Then the run still cleans up.
process.on("SIGINT", () => (isInterrupted = true));
process.on("SIGTERM", () => {
  isInterrupted = true;
  for (const child of running) child.kill("SIGTERM");
});

const counts: TestCount[] = [];
const runSuite = async (name: string, own: string[] = args): Promise<void> => {
  if (isInterrupted) return;
  console.log(`\n── ${name} ──`);
  counts.push((await suites[name]?.(own)) ?? { passed: 0, failed: 1, skipped: 0 });
};
const order = suiteOrder(Object.keys(suites), only);
for (const name of order.inTurn) await runSuite(name);
if (order.together) await runTogether();
const total = sumCounts(counts);
console.log(`\n${closingLines(total).join("\n")}`);
process.exit(allPassed(total) && !isInterrupted ? 0 : 1);

/** Runs `cluster` and `node` at the same time. The output of the second follows that of the first. */
async function runTogether(): Promise<void> {
  if (isInterrupted) return;
  const child = spawn(process.execPath, [process.argv[1] ?? "", "node"], { stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => output.push(chunk));
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => resolve());
  });
  await runSuite("cluster");
  await ended;
  running.delete(child);
  const text = Buffer.concat(output).toString();
  process.stdout.write(text);
  counts.push(countFromLines(text));
}

async function vitest(config: string, extra: string[]): Promise<TestCount> {
  const folder = mkdtempSync(join(tmpdir(), "joulie-test-"));
  const report = join(folder, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const child = spawn("vitest", ["run", "--config", config, ...reporters, ...extra], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    running.add(child);
    const status = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("exit", resolve);
    });
    running.delete(child);
    return countTests(readReport(report), status);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Reports tests that cannot run here and counts them by file: as skipped, or as failed where all tests are required.
 */
function skipped(config: string, place: string, reason: string): TestCount {
  const list = ["list", "--filesOnly", "--config", config];
  const files = spawnSync("vitest", list, { encoding: "utf8" }).stdout.trimEnd().split("\n");
  console.log(`SKIPPED, all tests on ${place}: ${reason}`);
  for (const file of files) console.log(`SKIPPED ${file}`);
  const mustRun = process.env["CI"] === "true";
  if (mustRun) console.log("with CI=true that is a failure");
  return { passed: 0, failed: mustRun ? files.length : 0, skipped: mustRun ? 0 : files.length };
}

function readReport(path: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as VitestReport;
  } catch {
    return undefined;
  }
}
