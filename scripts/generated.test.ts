import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { crdOf, kinds } from "../src/core/api/index.ts";
import { generatedFiles } from "./generated.ts";

const root = join(import.meta.dirname, "..");
const files = await generatedFiles();

describe("generated files", () => {
  it.each([...files.keys()])("X-01 %s matches the code; otherwise run: npm run generate", (path) => {
    expect(readFileSync(join(root, path), "utf8")).toBe(files.get(path));
  });

  it.each(kinds)(
    "X-01 $plural.yaml is the same CRD for readers of YAML 1.1, to whom on and off are booleans",
    (kind) => {
      const text = files.get(`charts/joulie/crds/${kind.plural}.yaml`) ?? "";
      expect(parse(text, { version: "1.1" })).toEqual(JSON.parse(JSON.stringify(crdOf(kind))));
    },
  );

  it("X-01 there is no CRD that the code does not generate", () => {
    const onDisk = readdirSync(join(root, "charts/joulie/crds")).map((name) => `charts/joulie/crds/${name}`);
    expect(onDisk.filter((path) => !files.has(path))).toEqual([]);
  });
});
