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
const USUAL_ROWS = 24;

/** Lines that are drawn over and over in the same place. Nothing is cleared before it is drawn over: that would flicker. */
export class Screen {
  readonly #terminal: Terminal;
  #drawn = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  draw(lines: readonly string[]): void {
    const rows = this.#terminal.rows ?? USUAL_ROWS;
    // What has scrolled away cannot be reached any more.
    const shown = lines.slice(0, Math.max(1, rows - 1));
    const up = this.#drawn > 0 ? `\x1b[${this.#drawn}A` : HIDE_CURSOR;
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
