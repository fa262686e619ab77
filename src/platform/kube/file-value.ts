import { readFileSync } from "node:fs";
import { JoulieError } from "../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";

/** How long what a file said is believed: kubelet replaces a service account's token long before the old one ends. */
const BELIEVED = milliseconds(60_000);

/** The text of a file that others replace while we run. */
export class FileValue {
  readonly #file: string;
  readonly #clock: Clock;
  #text: string | undefined;
  #readAt = milliseconds(0);

  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  /** Reads again at most once a minute. A file that cannot be read just now leaves the last text standing. */
  get(): string {
    const now: Milliseconds = this.#clock.monotonic();
    if (this.#text !== undefined && now - this.#readAt < BELIEVED) return this.#text;
    try {
      const text = readFileSync(this.#file, "utf8").trim();
      if (text === "") throw new Error("it is empty");
      this.#text = text;
      this.#readAt = now;
    } catch (cause) {
      if (this.#text === undefined) throw unreadable(this.#file, cause);
    }
    return this.#text;
  }

  /** What was read is no longer believed. */
  forget(): void {
    this.#readAt = milliseconds(Number.NEGATIVE_INFINITY);
  }
}

export function unreadable(file: string, cause: unknown): JoulieError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new JoulieError("JOULIE_E_KUBE_IDENTITY", `cannot use ${file}: ${why}`, { cause });
}
