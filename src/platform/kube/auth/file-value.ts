import { readFileSync } from "node:fs";
import { JoulieError } from "../../../core/api/index.ts";
import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";

/** How long what a file said is believed: kubelet replaces a service account's token long before the old one ends. */
const BELIEVED = milliseconds(60_000);

/** The text of a file that others replace while we run. */
export class FileValue {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #refusal: (message: string, cause: unknown) => Error;
  #text: string | undefined;
  /** Undefined when what was read is no longer believed. */
  #readAt: MonotonicInstant | undefined;

  /** `refusal` makes the error of a file that was never readable. */
  constructor(file: string, clock: Clock, refusal = noIdentity) {
    this.#file = file;
    this.#clock = clock;
    this.#refusal = refusal;
  }

  /** Reads again at most once a minute. A file that cannot be read just now leaves the last text standing. */
  get(): string {
    const now = this.#clock.monotonic();
    const fresh = this.#readAt !== undefined && elapsed(this.#readAt, now) < BELIEVED;
    if (fresh && this.#text !== undefined) return this.#text;
    try {
      const text = readFileSync(this.#file, "utf8").trim();
      if (text === "") throw new Error("it is empty");
      this.#text = text;
      this.#readAt = now;
    } catch (cause) {
      if (this.#text === undefined) throw this.#refusal(`cannot use ${this.#file}: ${said(cause)}`, cause);
    }
    return this.#text;
  }

  /** What was read is no longer believed. */
  forget(): void {
    this.#readAt = undefined;
  }
}

const noIdentity = (message: string, cause: unknown): Error =>
  new JoulieError("JOULIE_E_KUBE_IDENTITY", message, { cause });

const said = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
