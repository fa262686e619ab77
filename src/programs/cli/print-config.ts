import type { ParsedConfig } from "../../platform/config/index.ts";

/** The values in effect as three aligned columns, sorted as the configuration is. */
export function printedConfig({ sources, shown }: ParsedConfig<unknown>): string {
  const rows = Object.entries(sources).map(([name, source]) => [name, shown[name] ?? "(unset)", source]);
  return aligned([["NAME", "VALUE", "SOURCE"], ...rows]);
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}
