import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { imageSettings } from "./image-settings.ts";

it("the guide asks for what is measured", () => {
  const guide = readFileSync(join(import.meta.dirname, "../../../docs/guides/agent.md"), "utf8");
  const [, section = ""] = guide.split("## Memory\n");
  const block = /```\n([^`]+)```/.exec(section)?.[1] ?? "";
  const asked = block
    .trim()
    .split("\n")
    .map((line) => line.replaceAll('"', ""));
  expect(asked).toEqual(Object.entries(imageSettings).map(([name, value]) => `${name}=${value}`));
});
