import { describe, expect, it } from "vitest";
import { ledger, namedIds } from "./ledger.ts";

const sections = new Set(["SCH", "X"]);
const idsOf = (source: string) => namedIds(source, sections).map(({ id }) => id);

describe("the requirement ledger", () => {
  it("reads ids and their text", () => {
    const entries = ledger("## SCH\n- SCH-07: a reason [003]\n- X-01: one source\nprose - X-02: no\n- C1: a note\n");
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
    ['describe("SCH-07", f)', []],
    ['// it("SCH-07 rejects", f)', []],
  ])("finds in `%s`", (source, ids) => {
    expect(idsOf(source)).toEqual(ids);
  });

  it("says the line", () => {
    expect(namedIds('\n\nit("X-01 a", f)', sections)).toEqual([{ id: "X-01", line: 3 }]);
  });
});
