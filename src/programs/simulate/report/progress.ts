import type { Clock } from "../../../platform/clock/index.ts";

const INTERVAL_MS = 10_000;
/** Below this share the remaining time is not shown. */
const TELLING = 0.02;

/** Completed share and remaining time: a line every ten seconds, so that shorter runs print none. */
export class Progress {
  readonly #write: ((text: string) => void) | undefined;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #started: number;
  #written: number;

  constructor(clock: Pick<Clock, "monotonic">, write: ((text: string) => void) | undefined) {
    this.#clock = clock;
    this.#write = write;
    this.#started = clock.monotonic();
    this.#written = this.#started;
  }

  /** `done` is the completed share, 0–1. */
  at(done: number, what: string): void {
    const now = this.#clock.monotonic();
    if (now - this.#written < INTERVAL_MS) return;
    this.#written = now;
    const share = Math.min(1, Math.max(0, done));
    const left = share >= TELLING ? ((now - this.#started) * (1 - share)) / share / 1000 : undefined;
    const eta = left === undefined ? "" : `  ${timeOf(left)} left`;
    this.#write?.(`${Math.floor(share * 100)} %${eta}  ${what}\n`);
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
