import type { Clock } from "../../../platform/clock/index.ts";

const WIDTH = 24;
const REDRAW_MS = 100;
/** Below this share the remaining time is not shown. */
const TELLING = 0.02;

/** Progress bar with the remaining time, on terminals only. */
export class Progress {
  readonly #write: ((text: string) => void) | undefined;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #started: number;
  #drawn = Number.NEGATIVE_INFINITY;

  /** `write` absent = no output. */
  constructor(clock: Pick<Clock, "monotonic">, write: ((text: string) => void) | undefined) {
    this.#clock = clock;
    this.#write = write;
    this.#started = clock.monotonic();
  }

  /** `done` is the completed share, 0–1. */
  at(done: number, what: string): void {
    if (this.#write === undefined) return;
    const now = this.#clock.monotonic();
    if (now - this.#drawn < REDRAW_MS) return;
    this.#drawn = now;
    const share = Math.min(1, Math.max(0, done));
    const full = Math.round(WIDTH * share);
    const bar = "█".repeat(full) + "░".repeat(WIDTH - full);
    const left = share >= TELLING ? ((now - this.#started) * (1 - share)) / share / 1000 : undefined;
    const eta = left === undefined ? "" : `  ${timeOf(left)} left`;
    this.#write(`\r\x1b[K${bar} ${String(Math.floor(share * 100)).padStart(3)} %${eta}  ${what}`);
  }

  end(): void {
    if (this.#drawn !== Number.NEGATIVE_INFINITY) this.#write?.("\r\x1b[K");
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
