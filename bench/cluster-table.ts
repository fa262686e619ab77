// The table of docs/performance.md: the figures of two clusters side by side.

export function comparisonTable(
  figures: ReadonlyMap<string, { readonly unit: string; readonly median: number }>,
  sizes: readonly number[],
): string {
  const rows = new Map<string, { readonly unit: string; readonly values: Map<number, string> }>();
  for (const [name, { unit, median }] of figures) {
    const [, size = "", figure = ""] = /^(\d+) nodes(?:,|:| ) ?(.*)$/.exec(name) ?? [];
    if (figure === "") continue;
    const row = rows.get(figure) ?? { unit, values: new Map<number, string>() };
    row.values.set(Number(size), formatted(median));
    rows.set(figure, row);
  }
  const heads = sizes.map((size) => `${size.toLocaleString("en")} nodes`);
  return [
    `| | ${heads.join(" | ")} | |`,
    `|---|${sizes.map(() => "---:|").join("")}---|`,
    ...Array.from(
      rows,
      ([figure, { unit, values }]) =>
        `| ${figure} | ${sizes.map((size) => values.get(size) ?? "0").join(" | ")} | ${unit} |`,
    ),
  ].join("\n");
}

const formatted = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(2)));
