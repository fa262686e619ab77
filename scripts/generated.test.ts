import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { generatedFiles } from "./generated.ts";

const root = join(import.meta.dirname, "..");
const files = await generatedFiles();

describe("generated files", () => {
  it.each([...files.keys()])("X-01 %s matches the code; otherwise run: npm run generate", (path) => {
    expect(readFileSync(join(root, path), "utf8")).toBe(files.get(path));
  });

  it("X-01 there is no CRD that the code does not generate", () => {
    const onDisk = readdirSync(join(root, "charts/joulie/crds")).map((name) => `charts/joulie/crds/${name}`);
    expect(onDisk.filter((path) => !files.has(path))).toEqual([]);
  });
});
