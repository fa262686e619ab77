/** Cells by row; the first row is the head. */
export type TextTableRows = readonly (readonly string[])[];

/** Renders columns aligned with spaces: all left, or with `numbers` the first left and all others right. */
export function renderTable(rows: TextTableRows, align: "left" | "numbers" = "left"): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const aligned = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return align === "numbers" && column > 0 ? cell.padStart(width) : cell.padEnd(width);
  };
  return rows.map((row) => `${row.map(aligned).join("  ").trimEnd()}\n`).join("");
}
