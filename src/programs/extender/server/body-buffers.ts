/** A spare that is so much larger than what comes is not for what comes. */
const TOO_LARGE = 4;
/** After so many requests that needed far less the spare is let go. */
const REQUESTS_UNTIL_LET_GO = 100;
/** Seven of them for a body of whole Nodes, one for thirty bodies of 5,000 names: a third of a millisecond each. */
const PIECES_LEFT_LYING = 4 * 1024 * 1024;
/** Room for a few names more than last time. */
const ROUNDED_TO = 65_536;

/**
 * Memory for bodies, of which one is kept for the next request: kube-scheduler asks twice for each pod, one after the other, and
 * what is made anew each time stands around until it is collected, 30 MB at a time.
 */
export class BodyBuffers {
  readonly #collect: () => void;
  #spare: Buffer | undefined;
  #unneeded = 0;
  #pieces = 0;

  /** `collect` frees the pieces that were copied into a body, of which nobody thinks any more. */
  constructor(collect: () => void) {
    this.#collect = collect;
  }

  /** The spare one where it is as long as that, else a new one that is only as long as `now`; what is in it is anybody's. */
  take(length: number, now = length): Buffer {
    const spare = this.#spare;
    if (spare === undefined || spare.length < length) return Buffer.allocUnsafeSlow(roundedUp(Math.min(length, now)));
    this.#unneeded = spare.length > Math.max(ROUNDED_TO, TOO_LARGE * length) ? this.#unneeded + 1 : 0;
    this.#spare = undefined;
    return spare;
  }

  /** A piece of so many bytes has been copied, and lies around. */
  copied(bytes: number): void {
    this.#pieces += bytes;
    if (this.#pieces < PIECES_LEFT_LYING) return;
    this.#pieces = 0;
    this.#collect();
  }

  /** Nobody reads it any more. */
  give(buffer: Buffer): void {
    if (this.#unneeded >= REQUESTS_UNTIL_LET_GO) this.#unneeded = 0;
    else if (this.#spare === undefined || this.#spare.length < buffer.length) this.#spare = buffer;
  }
}

const roundedUp = (length: number): number => Math.ceil(length / ROUNDED_TO) * ROUNDED_TO;
