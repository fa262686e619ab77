// npm test: runs all suites; the last line is `N passed, N failed` over all of them. `npm run test:unit [-- FILE…]`
// runs one suite, optionally only some files. `npm run test:busy [-- SUITE [FILE…]]` does the same beside four busy loops.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepareBrowser } from "../test/browser/requirements.ts";
import { locateControlPlane } from "../test/controlplane/build.ts";
import { removeDeadNodes } from "../test/realnode/leftovers.ts";
import { prepareMachine } from "../test/realnode/requirements.ts";
import { startBusyLoops } from "./busy-loops.ts";
import {
  closingLines,
  countOfChild,
  countTests,
  exitCodeOf,
  sumCounts,
  type TestCount,
  type VitestReport,
} from "./count.ts";
import { memoryScratch } from "./memory-scratch.ts";
import { runChecks } from "./rules/checks.ts";
import { endRun, leaveRun, nameRun } from "./run-processes.ts";
import { suiteOrder } from "./suite-order.ts";

/** Time for the tests to stop their programs after an interruption. */
const END_WITHIN_MS = 20_000;
const suites: Record<string, (args: string[]) => Promise<TestCount>> = {
  check: async () => ({ ...(await runChecks()), skipped: 0 }),
  // Coverage slows every test down, and its threshold is for src/core: only the tests of src/core run with it.
  unit: async (args) =>
    args.length > 0
      ? vitest(["core", "unit"], args)
      : sumCounts([await vitest(["core"], ["--coverage"]), await vitest(["unit"], [])]),
  browser: async (args) => {
    const browser = prepareBrowser();
    return browser.ready ? vitest(["browser"], args) : skipped("browser", "a browser", browser.reason);
  },
  cluster: async (args) => {
    const binary = await locateControlPlane();
    return binary.available
      ? vitest(["cluster"], args)
      : skipped("cluster", "a real Kubernetes control plane", binary.reason);
  },
  node: async (args) => {
    const binary = await locateControlPlane();
    const machine = binary.available ? prepareMachine() : { ready: false as const, reason: binary.reason };
    if (!machine.ready) return skipped("node", "a real Kubernetes node", machine.reason);
    try {
      return await vitest(["node"], args);
    } finally {
      // Containers and mounts outlive a killed test process. An interrupted run ends all its processes first.
      if (!isInterrupted) {
        leaveRun();
        await removeDeadNodes();
      }
    }
  },
};

const isBusy = process.argv[2] === "--busy";
const [only, ...args] = process.argv.slice(isBusy ? 3 : 2);
if (only !== undefined && !Object.hasOwn(suites, only)) {
  console.error(`joulie: there is no suite "${only}"; there are: ${Object.keys(suites).join(", ")}`);
  process.exit(2);
}

// A kubelet needs a disk, so the tests on a real node keep the usual folder.
const { TMPDIR: defaultFolder } = process.env;
const scratch = only === "node" ? undefined : memoryScratch();
if (scratch !== undefined) process.env["TMPDIR"] = scratch;

// Tests start hundreds of processes, and half of each start is compiling the same sources.
const ownCache = process.env["NODE_COMPILE_CACHE"] === undefined ? mkdtempSync(join(tmpdir(), "joulie-compiled-")) : "";
if (ownCache !== "") process.env["NODE_COMPILE_CACHE"] = ownCache;

const run = nameRun();
if (isBusy) startBusyLoops(4);
const running = new Set<ChildProcess>();
let isInterrupted = false;
// A terminal signals vitest as well; a signal sent to this process alone must be forwarded. Then the run still cleans up.
for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) process.on(signal, () => interrupt(signal));

const counts: TestCount[] = [];
const runSuite = async (name: string, own: string[] = args): Promise<void> => {
  if (isInterrupted) return;
  console.log(`\n── ${name} ──`);
  counts.push((await suites[name]?.(own)) ?? { passed: 0, failed: 1, skipped: 0 });
};
const order = suiteOrder(Object.keys(suites), only);
if (order.beside !== undefined) await installPackages();
let besideEnded: (() => Promise<TestCount>) | undefined;
for (const name of order.inTurn) {
  if (name === order.beside?.from && !isInterrupted) besideEnded = startBeside(order.beside.suite);
  await runSuite(name);
}
if (besideEnded !== undefined) counts.push(await besideEnded());
if (isInterrupted) {
  counts.push({ passed: 0, failed: 1, skipped: 0, failures: ["the run was interrupted before its end"] });
  await endRun(run);
  if (defaultFolder === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = defaultFolder;
  leaveRun();
  // Only root has nodes.
  if (process.getuid?.() === 0) await removeDeadNodes();
}
for (const folder of [ownCache, scratch ?? ""]) if (folder !== "") rmSync(folder, { recursive: true, force: true });
const total = sumCounts(counts);
console.log(`\n${closingLines(total).join("\n")}`);
// As a child of `startBeside`.
if (process.send !== undefined) await new Promise((sent) => process.send?.(total, sent));
process.exit(exitCodeOf(total));

/** Ends the run: at once at the second signal, and soon if the tests do not end by themselves. */
function interrupt(signal: NodeJS.Signals): void {
  // Without a test there is nothing to stop in order: it may be building for minutes.
  if (isInterrupted || running.size === 0) void endRun(run);
  if (isInterrupted) return;
  isInterrupted = true;
  console.log("\ninterrupted: ending the tests and what they started …");
  if (signal !== "SIGINT") for (const child of running) child.kill("SIGTERM");
  setTimeout(() => void endRun(run), END_WITHIN_MS).unref();
}

/** Two suites that install packages at the same time would block each other. */
async function installPackages(): Promise<void> {
  prepareBrowser();
  if ((await locateControlPlane()).available) prepareMachine();
}

/** Starts a suite in a process of its own. Returns a function that waits for its end, and then prints its output. */
function startBeside(name: string): () => Promise<TestCount> {
  const { TMPDIR: _, ...env } = process.env;
  const child = spawn(process.execPath, [process.argv[1] ?? "", name], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: defaultFolder === undefined ? env : { ...env, TMPDIR: defaultFolder },
  });
  running.add(child);
  // Otherwise it would outlive a suite that throws.
  process.on("exit", () => child.kill("SIGTERM"));
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => output.push(chunk));
  let sent: unknown;
  child.on("message", (message) => (sent = message));
  const ended = new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(null));
    child.on("close", resolve);
  });
  return async () => {
    const exitCode = await ended;
    running.delete(child);
    // Unlike a write to standard output, this does not throw after the terminal has gone.
    console.log(Buffer.concat(output).toString().trimEnd());
    return countOfChild(sent, exitCode);
  };
}

async function vitest(projects: readonly string[], extra: string[]): Promise<TestCount> {
  const folder = mkdtempSync(join(tmpdir(), "joulie-test-"));
  const report = join(folder, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const selected = projects.map((project) => `--project=${project}`);
    const { NODE_COMPILE_CACHE, ...uncached } = process.env;
    const child = spawn("vitest", ["run", ...selected, ...reporters, ...extra], {
      stdio: ["ignore", "inherit", "inherit"],
      // V8 counts coverage less precisely in cached code.
      env: extra.includes("--coverage") ? uncached : { ...uncached, NODE_COMPILE_CACHE },
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
function skipped(project: string, place: string, reason: string): TestCount {
  const list = ["list", "--filesOnly", "--project", project];
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
