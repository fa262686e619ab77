/** A spare buffer that is larger by this factor counts as oversized. */
const OVERSIZED_FACTOR = 4;
/** After so many requests an oversized spare is released. */
const MAX_OVERSIZED_USES = 100;
/** Seven collections for a body of 5,000 whole Nodes, one for thirty bodies of names; each takes a third of a millisecond. */
const COLLECT_AFTER_BYTES = 4 * 1024 * 1024;
/** Leaves room for a few more names in the next request. */
const ROUNDED_TO = 65_536;

/** Buffers for request bodies. One spare is reused: a new one for each request would leave 30 MB of garbage at a time. */
export class BodyBuffers {
  readonly #collect: () => void;
  #spare: Buffer | undefined;
  #oversizedUses = 0;
  #garbageBytes = 0;

  /** `collect` runs a minor collection, which frees the socket chunks that were copied into a body. */
  constructor(collect: () => void) {
    this.#collect = collect;
  }

  /** The spare if it has `length` bytes, else a new buffer of `now` bytes. The contents are undefined. */
  take(length: number, now = length): Buffer {
    const spare = this.#spare;
    if (spare === undefined || spare.length < length) return Buffer.allocUnsafeSlow(roundedUp(Math.min(length, now)));
    this.#oversizedUses = spare.length > Math.max(ROUNDED_TO, OVERSIZED_FACTOR * length) ? this.#oversizedUses + 1 : 0;
    this.#spare = undefined;
    return spare;
  }

  /** Counts a socket chunk that was copied and is garbage now. */
  copied(bytes: number): void {
    this.#garbageBytes += bytes;
    if (this.#garbageBytes < COLLECT_AFTER_BYTES) return;
    this.#garbageBytes = 0;
    this.#collect();
  }

  /** Takes a buffer back that is no longer in use. */
  give(buffer: Buffer): void {
    if (this.#oversizedUses >= MAX_OVERSIZED_USES) this.#oversizedUses = 0;
    else if (this.#spare === undefined || this.#spare.length < buffer.length) this.#spare = buffer;
  }
}

const roundedUp = (length: number): number => Math.ceil(length / ROUNDED_TO) * ROUNDED_TO;
