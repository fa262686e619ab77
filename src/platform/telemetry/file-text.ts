import { readFileSync } from "node:fs";
import { type MonotonicInstant, monotonicInstant } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import { said, TelemetryError } from "./errors.ts";

/** Tokens in a pod are replaced long before the old one ends. */
const BELIEVED = 60_000;

/** The text of a file that others replace while we run: read again once a minute. */
export class FileText {
  readonly #file: string;
  readonly #clock: Clock;
  #text: string | undefined;
  #readAt: MonotonicInstant = monotonicInstant(Number.NEGATIVE_INFINITY);

  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  /** A file that cannot be read just now leaves the last text standing. */
  get(): string {
    const now = this.#clock.monotonic();
    if (this.#text !== undefined && now - this.#readAt < BELIEVED) return this.#text;
    try {
      const text = readFileSync(this.#file, "utf8").trim();
      if (text === "") throw new Error("it is empty");
      this.#text = text;
      this.#readAt = now;
    } catch (cause) {
      if (this.#text === undefined)
        throw new TelemetryError("credentials", `cannot use ${this.#file}: ${said(cause)}`, { cause });
    }
    return this.#text;
  }

  /** What was read is no longer believed. */
  forget(): void {
    this.#readAt = monotonicInstant(Number.NEGATIVE_INFINITY);
  }
}
