/** Where a view is drawn. */
export interface Terminal {
  readonly columns: number | undefined;
  readonly rows: number | undefined;
  write(text: string): void;
}

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
/** A terminal that knows it shows what is between them at once; others pass over it. */
const BEGIN = "\x1b[?2026h";
const END = "\x1b[?2026l";
const CLEAR_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";
/** A terminal that was made narrower has broken lines in two: nobody knows where the picture begins now. */
const CLEAR_ALL = "\x1b[H\x1b[2J";
const USUAL_ROWS = 24;
const USUAL_COLUMNS = 80;

/** Lines that are drawn over and over in the same place. Nothing is cleared before it is drawn over: that would flicker. */
export class Screen {
  readonly #terminal: Terminal;
  #drawn = 0;
  #columns: number | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** How wide a line may be. Behind a character in the last column there is no place to clear the rest from. */
  get width(): number {
    return Math.max(1, (this.#terminal.columns || USUAL_COLUMNS) - 1);
  }

  draw(lines: readonly string[]): void {
    const { columns } = this.#terminal;
    const rows = this.#terminal.rows || USUAL_ROWS;
    // What has scrolled away cannot be reached any more.
    const shown = lines.slice(0, Math.max(1, rows - 1));
    const resized = columns !== this.#columns;
    this.#columns = columns;
    const up = this.#drawn === 0 ? HIDE_CURSOR : resized ? CLEAR_ALL : `\x1b[${this.#drawn}A`;
    const text = shown.map((line) => `${line}${CLEAR_LINE}\n`).join("");
    this.#terminal.write(`${BEGIN}${up}\r${text}${CLEAR_BELOW}${END}`);
    this.#drawn = shown.length;
  }

  /** Leaves the last picture where it is. */
  end(): void {
    if (this.#drawn > 0) this.#terminal.write(SHOW_CURSOR);
    this.#drawn = 0;
  }
}
