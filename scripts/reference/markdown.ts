export const code = (text: string): string => `\`${text}\``;

/** A table. Pipes would end a cell and line breaks would end a row, so both are replaced. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => cells.map(cell).join(" | "));
  return lines.map((line) => `| ${line} |\n`).join("");
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");
