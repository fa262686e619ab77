import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { HttpError } from "./http-error.ts";

/** A body that is being received. `readBody` updates `received`; the check uses the other counters. */
export class ReceivedBody {
  /** Aborts the request with the given error. */
  readonly abort: (reason: HttpError) => void;
  received = 0;
  receivedBefore = 0;
  slowChecks = 0;

  constructor(abort: (reason: HttpError) => void) {
    this.abort = abort;
  }
}

/** A response that is not fully sent yet. */
interface SentAnswer {
  destroy(): unknown;
}

const CHECK_EVERY = milliseconds(250);
/** 64 KiB/s. In a cluster network a body of 64 MiB arrives within seconds. */
const MIN_BYTES = 16 * 1024;
/** 1 MiB/s, while other requests wait for the memory that a body holds. */
const MIN_BYTES_UNDER_PRESSURE = 256 * 1024;
/** Counts checks instead of time: after a blocked event loop, received bytes may not have been read yet. */
const SLOW_CHECKS = 8;
const SLOW_CHECKS_UNDER_PRESSURE = 2;

/**
 * Aborts requests whose body stalls: after 2 s without progress, or half a second while other requests wait for memory. While
 * requests wait, it also destroys a response that the client has not received within 2 s.
 */
export class StalledRequests {
  readonly #clock: Clock;
  readonly #isUnderPressure: () => boolean;
  readonly #bodies = new Set<ReceivedBody>();
  readonly #answers = new Map<SentAnswer, number>();
  #isChecking = false;

  /** `clock` is real time; `isUnderPressure` returns whether requests wait for memory. */
  constructor(clock: Clock, isUnderPressure: () => boolean) {
    this.#clock = clock;
    this.#isUnderPressure = isUnderPressure;
  }

  watchBody(body: ReceivedBody): void {
    this.#bodies.add(body);
    this.#checkLater();
  }

  unwatchBody(body: ReceivedBody): void {
    this.#bodies.delete(body);
  }

  watchAnswer(answer: SentAnswer): void {
    this.#answers.set(answer, 0);
    this.#checkLater();
  }

  unwatchAnswer(answer: SentAnswer): void {
    this.#answers.delete(answer);
  }

  #checkLater(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.#clock.after(CHECK_EVERY, () => this.#check(), { background: true });
  }

  #check(): void {
    this.#isChecking = false;
    const isUnderPressure = this.#isUnderPressure();
    for (const body of this.#bodies) checkBody(body, isUnderPressure);
    if (isUnderPressure) this.#checkAnswers();
    if (this.#bodies.size + this.#answers.size > 0) this.#checkLater();
  }

  #checkAnswers(): void {
    for (const [answer, checks] of this.#answers) {
      if (checks < SLOW_CHECKS) this.#answers.set(answer, checks + 1);
      else answer.destroy();
    }
  }
}

function checkBody(body: ReceivedBody, isUnderPressure: boolean): void {
  const progress = body.received - body.receivedBefore;
  body.receivedBefore = body.received;
  const isSlow = progress < (isUnderPressure ? MIN_BYTES_UNDER_PRESSURE : MIN_BYTES);
  body.slowChecks = isSlow ? body.slowChecks + 1 : 0;
  if (body.slowChecks < (isUnderPressure ? SLOW_CHECKS_UNDER_PRESSURE : SLOW_CHECKS)) return;
  const reason = `the body stalled after ${body.received} bytes; send it without pauses`;
  body.abort(new HttpError(408, reason, { connection: "close" }));
}
