import { describe, expect, it } from "vitest";
import { renderJsonPath } from "./jsonpath.ts";
import { outputFormatOf, rendered } from "./output.ts";
import { bar, cut, energyText, powerText, screenOf, sparkline, wrap } from "./screen.ts";
import { renderColumns, type TableColumn } from "./table.ts";

const list = {
  items: [
    { metadata: { name: "a", labels: { "x.io/y": "1" } }, n: 1 },
    { metadata: { name: "b" }, n: 2 },
  ],
};

describe("-o", () => {
  it.each([
    ["{.items[0].metadata.name}", "a"],
    ["{.items[*].metadata.name}", "a b"],
    ["{.items[-1].n}", "2"],
    ["{.items[0].metadata.labels.x\\.io/y}", "1"],
    ["{.items[0].metadata.labels['x.io/y']}", "1"],
    ['{range .items[*]}{.metadata.name}={.n}{"\\n"}{end}', "a=1\nb=2\n"],
    ["names: {$.items[*].metadata.name}.", "names: a b."],
    ["{.missing.field}", ""],
    ["{.items[0].metadata}", '{"name":"a","labels":{"x.io/y":"1"}}'],
    ["{range .none[*]}x{end}y", "y"],
  ])("CLI-06 jsonpath %s prints %j", (template, text) => {
    expect(renderJsonPath(template, list)).toBe(text);
  });

  it.each(["{.a", "{range .items[*]}x", "{end}", "{.items[?(@.n>1)]}"])(
    "CLI-06 reports the bad template %s",
    (template) => {
      expect(() => renderJsonPath(template, list)).toThrow(/jsonpath:/);
    },
  );

  it("CLI-06 prints the same value as json, yaml, name and text", async () => {
    const printable = {
      text: (wide: boolean) => `text ${wide}\n`,
      value: () => ({ a: 1, b: undefined }),
      names: () => ["node/a"],
    };
    const as = async (format: string | undefined) => rendered(outputFormatOf(format), printable);
    expect(await as("json")).toBe('{\n    "a": 1\n}\n');
    expect(await as("yaml")).toBe("a: 1\n");
    expect(await as("name")).toBe("node/a\n");
    expect(await as("wide")).toBe("text true\n");
    expect(await as(undefined)).toBe("text false\n");
    expect(await as("jsonpath={.a}")).toBe("1");
    expect(() => outputFormatOf("xml")).toThrow(/-o xml is not supported; use wide, json/);
  });
});

describe("tables", () => {
  const columns: readonly TableColumn<readonly string[]>[] = [
    { head: "NAME", cell: ([name = ""]) => name, flexible: true },
    { head: "POWER", cell: ([, power = ""]) => power, right: true },
    { head: "RACK", cell: ([, , rack = ""]) => rack, drop: 1 },
    { head: "SOURCE", cell: () => "agent", wide: true, drop: 2 },
  ];
  const rows = [
    ["worker-with-a-long-name", "9 W", "r1"],
    ["b", "100 W", "r2"],
  ];
  const table = (width: number | undefined, wide = false, headers = true) =>
    renderColumns(rows, columns, { columns: width, wide, headers });

  it("CLI-07 has all columns if they fit, more with -o wide, and no head if asked", () => {
    expect(table(undefined)).toBe(
      "NAME                     POWER  RACK\nworker-with-a-long-name    9 W  r1\nb                        100 W  r2\n",
    );
    expect(table(undefined, true).split("\n")[0]).toBe("NAME                     POWER  RACK  SOURCE");
    expect(table(undefined, false, false)).not.toContain("NAME");
  });

  it("CLI-07 on a narrow screen drops columns, then cuts names; no line is longer than the screen", () => {
    expect(table(32)).not.toContain("RACK");
    expect(table(20)).toContain("worker-with-…");
    for (const width of [20, 32, 80])
      for (const line of table(width).split("\n")) expect(line.length).toBeLessThanOrEqual(width);
  });

  it("CLI-07 escapes control characters of hostile names", () => {
    const text = renderColumns([["\u001b[31mred\n", "1 W", "r"]], columns, {
      columns: undefined,
      wide: false,
      headers: false,
    });
    expect(text).toBe("\\u001b[31mred\\n  1 W  r\n");
  });
});

describe("texts", () => {
  it("cuts and wraps by words", () => {
    expect([cut("abcdef", 4), cut("abc", 4), cut("abc", 0)]).toEqual(["abc…", "abc", ""]);
    expect(wrap("one two three four", 9)).toEqual(["one two", "three", "four"]);
    expect(wrap("one two", undefined)).toEqual(["one two"]);
  });

  it("shows power and energy in readable units; unknown is not 0", () => {
    expect([powerText(undefined), powerText(812.4), powerText(12_345), powerText(1_234_567)]).toEqual([
      "-",
      "812 W",
      "12.3 kW",
      "1.23 MW",
    ]);
    expect([energyText(3600), energyText(3.6e6), energyText(-7.2e9)]).toEqual(["1.00 Wh", "1.00 kWh", "-2.00 MWh"]);
  });

  it("draws bars and sparklines", () => {
    expect([bar(0.5, 4), bar(0, 2), bar(2, 2), bar(undefined, 2)]).toEqual(["██  ", "  ", "██", "  "]);
    expect(sparkline([1, undefined, 3], 4)).toBe(" ▁ █");
    expect(sparkline([], 2)).toBe("  ");
  });

  it("CLI-07 uses colours only on a terminal without NO_COLOR, and the width of COLUMNS also in a pipe", () => {
    const screen = (isTerminal: boolean, env: Record<string, string> = {}) =>
      screenOf({ isTerminal, columns: 120, env });
    expect(screen(true)).toEqual({ columns: 120, colour: true });
    expect(screen(false)).toEqual({ columns: undefined, colour: false });
    expect(screen(true, { NO_COLOR: "1" }).colour).toBe(false);
    expect(screen(true, { TERM: "dumb" }).colour).toBe(false);
    expect(screen(false, { COLUMNS: "80" }).columns).toBe(80);
    expect(screen(true, { COLUMNS: "banana" }).columns).toBe(120);
  });
});
