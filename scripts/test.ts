// npm test: every suite in turn; the last line of the whole run is `N passed, N failed` over all of them.
// `npm run test:unit [-- FILE…]` runs one suite, and of it the files named.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { locateControlPlane } from "../test/controlplane/build.ts";
import { type Count, closingLines, countOf, isGood, type Report, sum } from "./count.ts";
import { runChecks } from "./rules/checks.ts";

const clusterConfig = "vitest.cluster.config.ts";
const suites: Record<string, (args: string[]) => Promise<Count>> = {
  check: async () => ({ ...(await runChecks()), skipped: 0 }),
  // Coverage slows every test down, and its threshold is for src/core: only the tests of src/core run with it.
  unit: async (args) =>
    args.length > 0
      ? vitest("vitest.config.ts", args)
      : sum([
          await vitest("vitest.config.ts", ["--coverage", "src/core/"]),
          await vitest("vitest.config.ts", ["--exclude", "src/core/**"]),
        ]),
  cluster: async (args) => {
    const binary = await locateControlPlane();
    return binary.available ? vitest(clusterConfig, args) : withoutCluster(binary.reason);
  },
};

const [only, ...args] = process.argv.slice(2);
if (only !== undefined && !Object.hasOwn(suites, only)) {
  console.error(`joulie: there is no suite "${only}"; there are: ${Object.keys(suites).join(", ")}`);
  process.exit(2);
}

const counts: Count[] = [];
for (const [name, run] of Object.entries(suites)) {
  if (only !== undefined && name !== only) continue;
  console.log(`\n── ${name} ──`);
  counts.push(await run(args));
}
const total = sum(counts);
console.log(`\n${closingLines(total).join("\n")}`);
process.exit(isGood(total) ? 0 : 1);

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

function readReport(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Report;
  } catch {
    return undefined;
  }
}
