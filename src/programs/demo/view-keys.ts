const ESCAPE = "\x1b";

/** Key bindings of the live view: `q` quits, `?` toggles the explanation, Escape closes it. */
export class ViewKeys {
  readonly #quit = new AbortController();
  #explains = false;
  /** Called when the view must be redrawn at once. */
  onChange: () => void = () => undefined;

  /** Aborted by `q`. */
  get quit(): AbortSignal {
    return this.#quit.signal;
  }

  /** Whether the explanation replaces the view. */
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
