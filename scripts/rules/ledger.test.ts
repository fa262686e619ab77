import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { namedIds, parseRequirements, surveyRequirements } from "./ledger.ts";

const idsOf = (source: string) => namedIds(source).map(({ id }) => id);

describe("the requirements survey", () => {
  it("parses ids and their text", () => {
    const entries = parseRequirements(
      "## SCH\n- SCH-07: a reason [003]\n- X-01: one source\nprose - X-02: no\n- C1: a note\n",
    );
    expect([...entries]).toEqual([
      ["SCH-07", "a reason [003]"],
      ["X-01", "one source"],
    ]);
  });

  it.each([
    ['it("SCH-07 rejects", f)', ["SCH-07"]],
    ['it("SCH-04 SCH-05, X-43: rejects", f)', ["SCH-04", "SCH-05", "X-43"]],
    ["test(`X-99 ${name}`, f)", ["X-99"]],
    ['it.each([[1]])("SCH-17 %s", f)', ["SCH-17"]],
    ['it.skip("SCH-07 rejects", f)', []],
    ['it.todo("SCH-07 rejects")', []],
    ['it("rejects as SCH-07 says", f)', []],
    ['it("UTF-8 is kept", f)', []],
    ['it("SCH-04/SCH-05; X-43 rejects", f)', ["SCH-04", "SCH-05", "X-43"]],
    ['it("SHC-07 is misspelt", f)', ["SHC-07"]],
    ['it("x-01 is misspelt", f)', ["x-01"]],
    ['it("X-01 has no body")', []],
    ['it.fails("X-01 fails", f)', []],
    ['it("X-01 is skipped", { skip: true }, f)', []],
    ['it("X-01 has options", { timeout: 5 }, f)', ["X-01"]],
    ['describe.skip("all", () => { it("X-01 inside", f) })', []],
    ['describe("all", () => { it("X-01 inside", f) })', ["X-01"]],
    ['describe("SCH-07", f)', []],
    ['describe.skip("SCH-07", () => { it("rejects", f) })', []],
    ['describe.todo("all", () => { it("X-01 inside", f) })', []],
    ['describe.skip.each([1])("all %s", () => { it("X-01 inside", f) })', []],
    ['describe.each([1])("all %s", () => { it("X-01 inside", f) })', ["X-01"]],
    ['describe("all", { skip: true }, () => { it("X-01 inside", f) })', []],
    [
      'describe("all", () => { describe.skip("deep", () => { it("X-01 inside", f) }); it("X-02 beside", f) })',
      ["X-02"],
    ],
    ['it.skip.each([1])("X-01 %s", f)', []],
    ['it.concurrent.skip("X-01 a", f)', []],
    ['it.skipIf(!present)("X-01 needs a file", f)', []],
    ['it.runIf(present)("X-01 needs a file", f)', []],
    ['it.runIf(present).each([1])("X-01 needs a file", f)', []],
    ['describe.skipIf(true)("all", () => { it("X-01 inside", f) })', []],
    ['it("X-01 needs a file", { skip: !present }, f)', []],
    ['it("X-01 runs", { skip: false }, f)', ["X-01"]],
    ['it("X-01 gives up", (context) => { context.skip(); })', []],
    ['it("X-01 gives up", ({ skip }) => { skip("later"); })', []],
    ['it("X-01 calls a skip of its own", () => { cursor.skip(); })', ["X-01"]],
    ['// it("SCH-07 rejects", f)', []],
  ])("finds in `%s`", (source, ids) => {
    expect(idsOf(source)).toEqual(ids);
  });

  it("counts an id with a running test beside a skipped one", () => {
    expect(idsOf('it.skip("X-01 a", f); it("X-01 b", f)')).toEqual(["X-01"]);
  });

  it("rejects a duplicate id", () => {
    expect(() => parseRequirements("- X-01: a\n- X-01: b\n")).toThrow("X-01 twice");
  });

  it("no test of this repository names an unknown id", () => {
    const { required, unknown } = surveyRequirements(join(import.meta.dirname, "../.."));
    expect(required.size).toBeGreaterThan(250);
    expect(unknown).toEqual([]);
  });

  it("reports the line", () => {
    expect(namedIds('\n\nit("X-01 a", f)')).toEqual([{ id: "X-01", line: 3 }]);
  });
});
