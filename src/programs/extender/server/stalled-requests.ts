import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { HttpError } from "./http-error.ts";

/** A body that is being received. Its reader only counts bytes; the rest belongs to the check. */
export class ReceivedBody {
  /** Ends the request with the given answer. */
  readonly cut: (reason: HttpError) => void;
  received = 0;
  receivedBefore = 0;
  slowChecks = 0;

  constructor(cut: (reason: HttpError) => void) {
    this.cut = cut;
  }
}

/** An answer that has not gone out yet. */
interface SentAnswer {
  destroy(): unknown;
}

const CHECK_EVERY = milliseconds(250);
/** 64 KiB/s: in any cluster's network a body of 64 MiB comes within seconds. */
const LEAST_BYTES = 16 * 1024;
/** 1 MiB/s, while other requests wait for the memory that a body holds. */
const LEAST_BYTES_UNDER_PRESSURE = 256 * 1024;
/** Checks are counted, not time: after a moment in which our own event loop stood still, bytes wait to be read. */
const SLOW_CHECKS = 8;
const SLOW_CHECKS_UNDER_PRESSURE = 2;

/**
 * Cuts off requests whose body does not come: after 2 s without progress, and after half a second while other requests wait for
 * memory. While they wait, an answer that the client has not taken after 2 s is dropped as well.
 */
export class StalledRequests {
  readonly #clock: Clock;
  readonly #isPressed: () => boolean;
  readonly #bodies = new Set<ReceivedBody>();
  readonly #answers = new Map<SentAnswer, number>();
  #isChecking = false;

  /** `clock` is real time; `isPressed` says whether requests wait for memory. */
  constructor(clock: Clock, isPressed: () => boolean) {
    this.#clock = clock;
    this.#isPressed = isPressed;
  }

  watchBody(body: ReceivedBody): void {
    this.#bodies.add(body);
    this.#checkLater();
  }

  forgetBody(body: ReceivedBody): void {
    this.#bodies.delete(body);
  }

  watchAnswer(answer: SentAnswer): void {
    this.#answers.set(answer, 0);
    this.#checkLater();
  }

  forgetAnswer(answer: SentAnswer): void {
    this.#answers.delete(answer);
  }

  #checkLater(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.#clock.after(CHECK_EVERY, () => this.#check(), { background: true });
  }

  #check(): void {
    this.#isChecking = false;
    const isPressed = this.#isPressed();
    for (const body of this.#bodies) checkBody(body, isPressed);
    if (isPressed) this.#checkAnswers();
    if (this.#bodies.size + this.#answers.size > 0) this.#checkLater();
  }

  #checkAnswers(): void {
    for (const [answer, checks] of this.#answers) {
      if (checks < SLOW_CHECKS) this.#answers.set(answer, checks + 1);
      else answer.destroy();
    }
  }
}

function checkBody(body: ReceivedBody, isPressed: boolean): void {
  const came = body.received - body.receivedBefore;
  body.receivedBefore = body.received;
  const isSlow = came < (isPressed ? LEAST_BYTES_UNDER_PRESSURE : LEAST_BYTES);
  body.slowChecks = isSlow ? body.slowChecks + 1 : 0;
  if (body.slowChecks < (isPressed ? SLOW_CHECKS_UNDER_PRESSURE : SLOW_CHECKS)) return;
  const reason = `the body stalled after ${body.received} bytes; send it without pauses`;
  body.cut(new HttpError(408, reason, { connection: "close" }));
}
