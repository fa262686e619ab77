import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { checkLayers, sourceFiles } from "./layers.ts";
import { findDirectTimeAndRandom } from "./time.ts";
import { findWaits, TEST_FILE } from "./waits.ts";
import { checkWorkflows } from "./workflows.ts";

const root = join(import.meta.dirname, "../..");

interface Outcome {
  readonly good: boolean;
  readonly output: string;
}

const checks: Record<string, () => Promise<Outcome>> = {
  types: async () => tool("tsc", ["-p", "."]),
  "types of the page": async () => tool("tsc", ["-p", "web"]),
  "core's globals": async () => tool("tsc", ["-p", "scripts/rules/core"]),
  lint: async () => tool("oxlint", ["--type-aware", "--deny-warnings"]),
  format: async () => tool("biome", ["check", "--error-on-warnings"]),
  "layer rules": layerRules,
  "waits in tests": waitsInTests,
  "dead code": async () => tool("knip", []),
  workflows,
};

/** Runs every check, prints one line each and the full output of failed checks. */
export async function runChecks(): Promise<{ passed: number; failed: number; failures: string[] }> {
  const outcomes = await Promise.all(
    Object.entries(checks).map(async ([name, run]) => {
      const start = performance.now();
      const outcome = await run();
      const took = ((performance.now() - start) / 1000).toFixed(1);
      console.log(`${outcome.good ? "✓" : "✗"} ${name} (${took} s)`);
      if (!outcome.good) console.log(outcome.output.trimEnd());
      return { name, ...outcome };
    }),
  );
  const failures = outcomes.filter(({ good }) => !good).map(({ name }) => `check: ${name}`);
  return { passed: outcomes.length - failures.length, failed: failures.length, failures };
}

async function tool(name: string, args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(join(root, "node_modules", ".bin", name), args, {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.on("error", (error) => resolve({ good: false, output: `${name}: ${error.message}` }));
    child.on("close", (code) => resolve({ good: code === 0, output }));
  });
}

async function workflows(): Promise<Outcome> {
  const { findings, skipped } = await checkWorkflows(root);
  if (skipped !== undefined) console.log(`workflows were not checked: ${skipped}`);
  return { good: findings.length === 0, output: findings.join("\n") };
}

async function waitsInTests(): Promise<Outcome> {
  const files = ["src", "test", "scripts", "bench"].flatMap((folder) => sourceFiles(join(root, folder)));
  const tests = files.map((file) => relative(root, file)).filter((path) => TEST_FILE.test(path));
  const findings = tests.flatMap((path) => findWaits(path, readFileSync(join(root, path), "utf8")));
  return { good: findings.length === 0, output: findings.join("\n") };
}

async function layerRules(): Promise<Outcome> {
  const report = await checkLayers(root);
  const findings = [...report.violations];
  for (const file of sourceFiles(join(root, "src"))) {
    findings.push(...findDirectTimeAndRandom(relative(root, file), readFileSync(file, "utf8")));
  }
  if (report.modulesSeen !== report.files) {
    findings.push(`dependency-cruiser saw ${report.modulesSeen} of ${report.files} modules: its verdict means nothing`);
  }
  return { good: findings.length === 0, output: findings.join("\n") };
}
