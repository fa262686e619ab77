import { readFileSync } from "node:fs";
import { errorMessageOf, JoulieError } from "../../../core/api/index.ts";
import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";

/** How long to cache the content. The kubelet replaces a service account token long before it expires. */
const CACHE_TIME = milliseconds(60_000);

/** The cached text of a file that another process replaces, such as a service account token. */
export class FileValue {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #refusal: (message: string, cause: unknown) => Error;
  #text: string | undefined;
  /** Undefined when the cached text is invalidated. */
  #readAt: MonotonicInstant | undefined;

  /** `refusal` creates the error when the file was never readable. */
  constructor(file: string, clock: Clock, refusal = noIdentity) {
    this.#file = file;
    this.#clock = clock;
    this.#refusal = refusal;
  }

  /** Reads the file at most once a minute. Returns the last text while the file is unreadable. */
  get(): string {
    const now = this.#clock.monotonic();
    const fresh = this.#readAt !== undefined && elapsed(this.#readAt, now) < CACHE_TIME;
    if (fresh && this.#text !== undefined) return this.#text;
    try {
      const text = readFileSync(this.#file, "utf8").trim();
      if (text === "") throw new Error("it is empty");
      this.#text = text;
      this.#readAt = now;
    } catch (cause) {
      if (this.#text === undefined) throw this.#refusal(`cannot use ${this.#file}: ${errorMessageOf(cause)}`, cause);
    }
    return this.#text;
  }

  /** Invalidates the cached text. */
  forget(): void {
    this.#readAt = undefined;
  }
}

const noIdentity = (message: string, cause: unknown): Error =>
  new JoulieError("JOULIE_E_KUBE_IDENTITY", message, { cause });
