import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { checkWorkflows } from "./workflows.ts";

const root = join(import.meta.dirname, "../..");
const text = readFileSync(join(root, ".github/workflows/ci.yml"), "utf8");
const hasGo = spawnSync("go", ["version"]).status === 0;

describe.runIf(hasGo)("the workflows", () => {
  let tree: string;
  beforeEach(() => {
    tree = mkdtempSync(join(tmpdir(), "joulie-workflows-"));
    mkdirSync(join(tree, ".github/workflows"), { recursive: true });
  });
  afterEach(() => rmSync(tree, { recursive: true, force: true }));

  it("are reported with file and line if actionlint finds an error", async () => {
    writeFileSync(join(tree, ".github/workflows/ci.yml"), text.replace("runs-on:", "run-on:"));
    const { findings } = await checkWorkflows(tree);
    expect(findings).toContainEqual(expect.stringMatching(/ci\.yml:\d+:\d+: .*"?runs-on"?/));
  });
});

it("the workflow runs every suite of npm test", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
  const suites = Object.keys(scripts).flatMap((name) => /^test:(?!busy)(\w+)/.exec(name)?.[1] ?? []);
  const { jobs } = parse(text) as { jobs: { suite: { strategy: { matrix: { suite: string[] } } } } };
  expect(jobs.suite.strategy.matrix.suite.toSorted()).toEqual(["check", ...suites].toSorted());
});
