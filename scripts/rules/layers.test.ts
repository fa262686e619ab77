import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import houseRules from "../../.dependency-cruiser.mjs";
import { checkLayers } from "./layers.ts";

const root = join(import.meta.dirname, "../..");

/** Checks a tree of the given files with the real rules. */
async function violationsOf(files: Record<string, string>): Promise<readonly string[]> {
  const tree = mkdtempSync(join(tmpdir(), "joulie-layers-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
      writeFileSync(join(tree, path), text);
    }
    writeFileSync(join(tree, "package.json"), '{"dependencies":{"zod":"4"},"devDependencies":{"vitest":"5"}}');
    symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
    return (await checkLayers(tree)).violations;
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

const leaf = "export const x = 1;\n";
const importing = (path: string) => `import { x } from "${path}";\nexport const y = x;\n`;

/** A minimal tree that violates each rule. */
const breakers: [rule: string, files: Record<string, string>][] = [
  ["core-stands-on-itself", { "src/core/units/a.ts": 'import "node:fs";\n' }],
  [
    "core-stands-on-itself",
    { "src/core/units/a.ts": 'import type { Stats } from "node:fs";\nexport type S = Stats;\n' },
  ],
  ["core-stands-on-itself", { "src/core/units/a.ts": 'import "pino";\n' }],
  ["core-stands-on-itself", { "src/core/units/a.ts": importing("../../../bin/x.mjs"), "bin/x.mjs": leaf }],
  [
    "core-stands-on-itself",
    { "src/core/units/a.ts": importing("../../platform/clock/index.ts"), "src/platform/clock/index.ts": leaf },
  ],
  ["core-tests-stand-on-core", { "src/core/units/a.test.ts": 'import "node:fs";\n' }],
  [
    "core-tests-stand-on-core",
    { "src/core/units/a.test.ts": importing("../../platform/clock/index.ts"), "src/platform/clock/index.ts": leaf },
  ],
  [
    "platform-is-the-first-floor",
    { "src/platform/clock/a.ts": importing("../../programs/cli/index.ts"), "src/programs/cli/index.ts": leaf },
  ],
  ["through-the-index", { "src/core/api/a.ts": importing("../units/watts.ts"), "src/core/units/watts.ts": leaf }],
  [
    "through-the-index",
    { "src/programs/cli/a.ts": importing("../../core/units/watts.ts"), "src/core/units/watts.ts": leaf },
  ],
  ["src-stands-alone", { "src/platform/clock/a.ts": importing("../../../test/x.ts"), "test/x.ts": leaf }],
  [
    "testing-folders-are-for-tests",
    { "src/platform/clock/a.ts": importing("./testing/fake.ts"), "src/platform/clock/testing/fake.ts": leaf },
  ],
  ["no-development-dependency", { "src/platform/clock/a.ts": 'import "vitest";\n' }],
  [
    "no-cycle",
    { "src/core/units/a.ts": importing("./b.ts"), "src/core/units/b.ts": 'import "./a.ts";\nexport const x = 1;\n' },
  ],
  ["resolvable", { "src/core/units/a.ts": importing("./missing.ts") }],
  ["place-unknown", { "src/core/helpers/a.ts": leaf }],
  ["place-unknown", { "src/core/loose.ts": leaf }],
  ["place-unknown", { "src/shared.ts": leaf }],
  ["place-unknown", { "src/other/room/a.ts": leaf }],
  ...houseRules.forbidden
    .map(({ name }: { name?: string }) => /^core-(\w+)-looks-down$/.exec(name ?? "")?.[1])
    .filter((room: string | undefined): room is string => room !== undefined)
    .map((room: string): [string, Record<string, string>] => [
      `core-${room}-looks-down`,
      { [`src/core/${room}/a.ts`]: importing("../report/index.ts"), "src/core/report/index.ts": leaf },
    ]),
];

describe("the layer rules detect violations", () => {
  it.each(breakers)("%s", async (rule, files) => {
    const violations = await violationsOf(files);
    expect(violations.map((line) => line.split(":")[0])).toContain(rule);
  });

  it("folders on the same layer do not import each other", async () => {
    const violations = await violationsOf({
      "src/core/policy/a.ts": importing("../twin/index.ts"),
      "src/core/twin/index.ts": leaf,
    });
    expect(violations).toEqual(["core-policy-looks-down: src/core/policy/a.ts -> src/core/twin/index.ts"]);
  });

  it("every rule has a violation test", () => {
    const broken = new Set(breakers.map(([rule]) => rule));
    const rules = houseRules.forbidden.map(({ name }: { name?: string }) => name ?? "");
    expect(rules.filter((rule: string) => !broken.has(rule))).toEqual([]);
  });

  it("a tree that follows the rules passes", async () => {
    const violations = await violationsOf({
      "src/core/units/index.ts": leaf,
      "src/core/api/a.ts": `${importing("../units/index.ts")}import "zod";\n`,
      "src/platform/clock/a.ts": `${importing("../../core/units/index.ts")}import "node:fs";\n`,
    });
    expect(violations).toEqual([]);
  });

  it("a test and another testing file may import from a testing folder", async () => {
    const violations = await violationsOf({
      "src/platform/clock/a.test.ts": importing("./testing/fake.ts"),
      "src/platform/clock/testing/fake.ts": 'export { x } from "./other-fake.ts";\n',
      "src/platform/clock/testing/other-fake.ts": leaf,
    });
    expect(violations).toEqual([]);
  });

  it("the checker sees every module of this repository and finds no violation", async () => {
    const report = await checkLayers(root);
    expect(report.violations).toEqual([]);
    expect(report.files).toBeGreaterThan(0);
    expect(report.modulesSeen).toBe(report.files);
  });
});
