import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writtenFiles } from "./written-files.ts";

it("the guide lists every file that is opened for writing, and no other", () => {
  const guide = readFileSync(join(import.meta.dirname, "../../../../docs/guides/agent.md"), "utf8");
  const [, section = ""] = guide.split("## What it opens for writing\n");
  const rows = Array.from(
    section.split("\n## ", 1)[0]?.matchAll(/^\| `(.+)` \| (.+) \|$/gm) ?? [],
    ([, path, why]) => ({
      path,
      why,
    }),
  );
  expect(rows).toEqual(writtenFiles);
});
