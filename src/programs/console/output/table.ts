import { cut } from "./screen.ts";

export interface TableColumn<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string;
  readonly right?: boolean;
  /** Shown only with `-o wide`. */
  readonly wide?: boolean;
  /** The first to go on a narrow screen has the highest number; 0 always stays. */
  readonly drop?: number;
  /** May be cut on a narrow screen. */
  readonly flexible?: boolean;
}

export interface TableOptions {
  readonly columns: number | undefined;
  readonly wide: boolean;
  readonly headers: boolean;
}

const GAP = 2;
const SHORTEST = 6;

/** Renders rows within the width of the screen: drops columns by their order, then cuts the flexible ones. */
export function renderColumns<Row>(
  rows: readonly Row[],
  all: readonly TableColumn<Row>[],
  { columns: width, wide, headers }: TableOptions,
): string {
  let columns = all.filter((column) => wide || column.wide !== true);
  const cells = new Map(columns.map((column) => [column, rows.map((row) => cut(column.cell(row), 1000))]));
  const natural = new Map(
    columns.map((column) => {
      const texts = cells.get(column) ?? [];
      let longest = headers ? column.head.length : 0;
      for (const text of texts) longest = Math.max(longest, text.length);
      return [column, longest];
    }),
  );
  const total = () => columns.reduce((sum, column) => sum + (natural.get(column) ?? 0) + GAP, -GAP);
  if (width !== undefined) {
    while (total() > width) {
      const [victim] = columns.filter(({ drop = 0 }) => drop > 0).toSorted((a, b) => (b.drop ?? 0) - (a.drop ?? 0));
      if (victim === undefined) break;
      columns = columns.filter((column) => column !== victim);
    }
    for (const column of columns.filter(({ flexible }) => flexible === true)) {
      const over = total() - width;
      const size = natural.get(column) ?? 0;
      if (over > 0) natural.set(column, Math.max(SHORTEST, size - over));
    }
  }
  const line = (texts: readonly string[]): string =>
    `${texts
      .map((text, at) => {
        const column = columns[at] as TableColumn<Row>;
        const size = natural.get(column) ?? 0;
        const fitted = cut(text, size);
        return column.right === true ? fitted.padStart(size) : fitted.padEnd(size);
      })
      .join(" ".repeat(GAP))
      .trimEnd()}\n`;
  const body = rows.map((_, index) => line(columns.map((column) => cells.get(column)?.[index] ?? "")));
  return (headers ? line(columns.map(({ head }) => head)) : "") + body.join("");
}
