const ESCAPE = "\x1b";

/** What keys do to the live view: `q` quits, `?` explains and goes back, Escape goes back. */
export class ViewKeys {
  readonly #quit = new AbortController();
  #explains = false;
  /** Called when the view has to show something else at once. */
  onChange: () => void = () => undefined;

  /** Aborted by `q`. */
  get quit(): AbortSignal {
    return this.#quit.signal;
  }

  /** Whether the explanation is shown in place of the view. */
  get explains(): boolean {
    return this.#explains;
  }

  press(key: string): void {
    if (key === "q" || key === "Q") this.#quit.abort();
    else if (key === "?") this.#show(!this.#explains);
    else if (key === ESCAPE) this.#show(false);
  }

  #show(explains: boolean): void {
    if (explains === this.#explains) return;
    this.#explains = explains;
    this.onChange();
  }
}
