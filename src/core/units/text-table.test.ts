import { describe, expect, it } from "vitest";
import { renderTable } from "./text-table.ts";

const rows = [
  ["arm", "kWh"],
  ["least", "12,345.7"],
];

describe("renderTable", () => {
  it("aligns the first column left and numbers right, without spaces at line ends", () => {
    expect(renderTable(rows, "numbers")).toBe("arm         kWh\nleast  12,345.7\n");
  });

  it("aligns all columns left by default", () => {
    expect(renderTable(rows)).toBe("arm    kWh\nleast  12,345.7\n");
  });

  it("accepts rows of different lengths and no rows", () => {
    expect(renderTable([["a", "b"], ["long"], ["c", "d", "extra"]])).toBe("a     b\nlong\nc     d  extra\n");
    expect(renderTable([])).toBe("");
  });
});
