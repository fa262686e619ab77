/** Output of the live view. */
export interface Terminal {
  readonly columns: number | undefined;
  readonly rows: number | undefined;
  write(text: string): void;
}

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
/** Synchronized update: supporting terminals display the content at once, others ignore the sequences. */
const BEGIN = "\x1b[?2026h";
const END = "\x1b[?2026l";
const CLEAR_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";
/** After a change of size lines may have wrapped or scrolled, so the start of the view is unknown. */
const CLEAR_ALL = "\x1b[H\x1b[2J";
const DEFAULT_ROWS = 24;
const DEFAULT_COLUMNS = 80;

/** Redraws lines in the same place. It clears each line while drawing and not before, which avoids flicker. */
export class Screen {
  readonly #terminal: Terminal;
  #drawn = 0;
  #size: string | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Maximum line width. The last column stays empty, because clearing after it would erase its character. */
  get width(): number {
    return Math.max(1, (this.#terminal.columns || DEFAULT_COLUMNS) - 1);
  }

  /** Maximum number of lines. The cursor stays below the last one. */
  get height(): number {
    return Math.max(1, (this.#terminal.rows || DEFAULT_ROWS) - 1);
  }

  draw(lines: readonly string[]): void {
    const size = `${this.#terminal.columns}x${this.#terminal.rows}`;
    // Lines that have scrolled away cannot be overwritten.
    const shown = lines.slice(0, this.height);
    const resized = size !== this.#size;
    this.#size = size;
    const up = this.#drawn === 0 ? HIDE_CURSOR : resized ? CLEAR_ALL : `\x1b[${this.#drawn}A`;
    const text = shown.map((line) => `${line}${CLEAR_LINE}\n`).join("");
    this.#terminal.write(`${BEGIN}${up}\r${text}${CLEAR_BELOW}${END}`);
    this.#drawn = shown.length;
  }

  /** Shows the cursor again and leaves the last view in place. */
  end(): void {
    if (this.#drawn > 0) this.#terminal.write(SHOW_CURSOR);
    this.#drawn = 0;
  }
}
