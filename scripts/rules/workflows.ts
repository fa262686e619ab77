// Checks .github/workflows with actionlint, which Go builds once from the module in ./actionlint.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildOnce, cacheFolder } from "../../test/controlplane/build.ts";

const sources = join(import.meta.dirname, "actionlint");
const PACKAGE = "github.com/rhysd/actionlint/cmd/actionlint";
const MAX_BUILD_MS = 10 * 60_000;
const MAX_RUN_MS = 60_000;

interface Verdict {
  readonly findings: readonly string[];
  /** Why the workflows could not be checked here. */
  readonly skipped?: string;
}

/** Checks the workflows of the checkout at `root`, where actionlint can be built. */
export async function checkWorkflows(root: string): Promise<Verdict> {
  const go = spawnSync("go", ["version"], { encoding: "utf8" });
  if (go.status !== 0) return { findings: [], skipped: "no Go on this machine, which builds actionlint" };
  const folder = join(root, ".github/workflows");
  const files = readdirSync(folder).map((name) => join(folder, name));
  let actionlint: string;
  try {
    actionlint = await buildActionlint(go.stdout);
  } catch (error) {
    return { findings: [], skipped: String(error) };
  }
  // The linters of shell and Python scripts are other programs, which not every machine has.
  const args = ["-shellcheck=", "-pyflakes=", "-oneline", "-no-color", ...files];
  const { status, stdout, stderr } = spawnSync(actionlint, args, { encoding: "utf8", timeout: MAX_RUN_MS });
  if (status === 0) return { findings: [] };
  const lines = `${stdout}${stderr}`.split("\n").filter((line) => line !== "");
  return { findings: lines.length > 0 ? lines : [`actionlint ended with status ${status}`] };
}

async function buildActionlint(goVersion: string): Promise<string> {
  const module = ["go.mod", "go.sum"].map((name) => readFileSync(join(sources, name), "utf8"));
  const key = createHash("sha256")
    .update(JSON.stringify([goVersion, module]))
    .digest("hex")
    .slice(0, 16);
  const path = join(cacheFolder(), `actionlint-${key}`, "actionlint");
  const say = (line: string) => console.log(line);
  await buildOnce(path, { what: "actionlint", minutes: 1, say }, async (unfinished) => {
    const args = ["build", "-trimpath", "-ldflags", "-s -w", "-o", unfinished, PACKAGE];
    const { status, stderr } = spawnSync("go", args, { cwd: sources, encoding: "utf8", timeout: MAX_BUILD_MS });
    if (status !== 0) throw new Error(`go build of actionlint ended with status ${status}: ${stderr.slice(-1000)}`);
  });
  return path;
}
