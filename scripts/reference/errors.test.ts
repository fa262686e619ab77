import { expect, it } from "vitest";
import { errorGroups, errorRegistry } from "../../src/core/api/index.ts";
import { errorReference } from "./errors.ts";

it("lists every error code with its cause and remedy", () => {
  const page = errorReference();
  for (const [code, { cause, remedy }] of Object.entries(errorRegistry)) {
    expect(page).toContain(`### ${code}\n\n**Cause.** ${cause}\n\n**What to do.** ${remedy}`);
  }
});

it("groups the error codes by program", () => {
  const sections = errorReference().split("\n## ").slice(1);
  expect(sections.map((section) => section.split("\n", 1)[0])).toEqual(errorGroups);
  for (const section of sections) expect(section).toContain("### JOULIE_E_");
});
