import type { Clock } from "../../../platform/clock/index.ts";

const WIDTH = 24;
const REDRAW_MS = 100;
/** Below this share the remaining time is not shown. */
const TELLING = 0.02;

/** Without a terminal. */
const LINE_MS = 10_000;

/** Where progress is shown. */
export interface ProgressOutput {
  readonly isTerminal: boolean;
  readonly write: (text: string) => void;
}

/** Completed share and remaining time: a bar on a terminal, elsewhere a line every ten seconds. */
export class Progress {
  readonly #output: ProgressOutput | undefined;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #started: number;
  #drawn: number;

  /** `output` absent = no output. */
  constructor(clock: Pick<Clock, "monotonic">, output: ProgressOutput | undefined) {
    this.#clock = clock;
    this.#output = output;
    this.#started = clock.monotonic();
    // A run of less than ten seconds prints no line.
    this.#drawn = output?.isTerminal === true ? -Infinity : this.#started;
  }

  /** `done` is the completed share, 0–1. */
  at(done: number, what: string): void {
    if (this.#output === undefined) return;
    const { isTerminal, write } = this.#output;
    const now = this.#clock.monotonic();
    if (now - this.#drawn < (isTerminal ? REDRAW_MS : LINE_MS)) return;
    this.#drawn = now;
    const share = Math.min(1, Math.max(0, done));
    const percent = Math.floor(share * 100);
    const left = share >= TELLING ? ((now - this.#started) * (1 - share)) / share / 1000 : undefined;
    const eta = left === undefined ? "" : `  ${timeOf(left)} left`;
    if (!isTerminal) {
      write(`${percent} %${eta}  ${what}\n`);
      return;
    }
    const full = Math.round(WIDTH * share);
    const bar = "█".repeat(full) + "░".repeat(WIDTH - full);
    write(`\r\x1b[K${bar} ${String(percent).padStart(3)} %${eta}  ${what}`);
  }

  end(): void {
    if (this.#output?.isTerminal === true && this.#drawn !== -Infinity) this.#output.write("\r\x1b[K");
  }
}

function timeOf(seconds: number): string {
  const whole = Math.ceil(seconds);
  const minutes = Math.floor(whole / 60);
  const rest = String(whole % 60).padStart(2, "0");
  return minutes < 60
    ? `${minutes}:${rest}`
    : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}
