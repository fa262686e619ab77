/** How often a command without a terminal says that it still works. */
const EVERY_MS = 10_000;
const REDRAW_MS = 1000;

interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * Says on standard error what a long command does: one line that is redrawn on a terminal, elsewhere a line for each step and
 * one every ten seconds. A step that keeps the processor busy delays only the latter.
 */
export class ProgressReporter {
  readonly #output: Output;
  readonly #subject: string;
  readonly #started = performance.now();
  readonly #timer: NodeJS.Timeout;
  #step = "";

  constructor(subject: string, output: Output = process.stderr) {
    this.#subject = subject;
    this.#output = output;
    this.#timer = setInterval(() => this.#print(), output.isTTY === true ? REDRAW_MS : EVERY_MS);
    this.#timer.unref();
  }

  /** Begins a step. */
  step(what: string): void {
    this.#step = what;
    this.#print();
  }

  /** Clears the line of a terminal. */
  stop(): void {
    clearInterval(this.#timer);
    if (this.#output.isTTY === true) this.#output.write("\r\x1b[K");
  }

  #print(): void {
    const seconds = Math.round((performance.now() - this.#started) / 1000);
    const line = `${this.#subject}: ${this.#step} (${seconds} s)`;
    this.#output.write(this.#output.isTTY === true ? `\r\x1b[K${line}` : `${line}\n`);
  }
}
