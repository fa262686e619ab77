import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** One end may have been anybody's; a second one at the same place is NVML's. */
const ENDS_TO_BELIEVE = 2;

/**
 * Remembers that NVML is about to be tried, for a broken board can make it end the whole program (SIGSEGV). What is found at
 * the next start is a try that was never finished. After two of them NVML is left alone, until the machine is booted again or
 * has another driver: `key` says which these are.
 */
export class NvmlTrial {
  readonly #file: string;
  readonly #key: string;
  readonly #unfinished: number;
  #open = true;

  constructor(file: string, key: string) {
    this.#file = file;
    this.#key = key;
    this.#unfinished = unfinishedIn(file, key);
  }

  /** Why NVML is not to be tried. */
  get distrusted(): string | undefined {
    return this.#unfinished >= ENDS_TO_BELIEVE
      ? `NVML is not used: it ended this program ${this.#unfinished} times as it started, which a broken board can cause; delete ${this.#file} to try it again`
      : undefined;
  }

  begin(): void {
    if (!this.#open) return;
    try {
      mkdirSync(dirname(this.#file), { recursive: true });
      writeFileSync(this.#file, JSON.stringify({ unfinished: this.#unfinished + 1, key: this.#key }));
    } catch {
      // Without a folder to write to there is no memory, and NVML is tried each time.
      this.#open = false;
    }
  }

  /** It came back, whatever it said. From now on it is trusted. */
  end(): void {
    if (!this.#open) return;
    this.#open = false;
    rmSync(this.#file, { force: true });
  }
}

function unfinishedIn(file: string, key: string): number {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof kept !== "object" || kept === null || !("unfinished" in kept) || !("key" in kept)) return 0;
    return kept.key === key && Number.isSafeInteger(kept.unfinished) ? Math.max(0, Number(kept.unfinished)) : 0;
  } catch {
    return 0;
  }
}
