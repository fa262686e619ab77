import { isUtf8 } from "node:buffer";
import {
  byteAt,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfString,
  faultAt,
  MAX_DEPTH,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
  skipPlain,
  skipSpaces,
  skipValue,
} from "./json-bytes.ts";
import { RequestError } from "./request-error.ts";

/** Scratch memory of `skipValue`: values are skipped one at a time, so one array serves all cursors. */
const open = new Uint8Array(MAX_DEPTH + 1);

/**
 * Walks over JSON bytes without building objects. It accepts exactly the UTF-8 that JSON.parse accepts, up to a depth of 10,000.
 * Skipped values are validated as strictly as values that are read, so a malformed body is rejected wherever the fault is.
 */
export class JsonCursor {
  readonly bytes: Buffer;
  /** The current position. */
  at = 0;
  /** The last key, without its quotes. */
  keyStart = 0;
  keyEnd = 0;
  /** The last string had escapes: its bytes differ from its characters. */
  escaped = false;
  #depth = 0;
  readonly #lastQuote: number;

  constructor(bytes: Buffer) {
    if (!isUtf8(bytes)) throw new RequestError(`the body is not UTF-8 at byte ${firstBrokenByte(bytes)}`);
    this.bytes = bytes;
    this.#lastQuote = bytes.lastIndexOf(QUOTE);
  }

  /** The first byte of the next token; 0 at the end of the body. */
  peek(): number {
    const { bytes, at } = this;
    const byte = byteAt(bytes, at, bytes.length);
    if (byte > SPACE) return byte;
    this.at = skipSpaces(bytes, at, bytes.length);
    return byteAt(bytes, this.at, bytes.length);
  }

  /** Enters an object; true if it has a member, whose key comes next. */
  enterObject(): boolean {
    return this.#enter(OPEN_OBJECT, "{", CLOSE_OBJECT);
  }

  /** Moves behind a member; true if another follows. */
  nextMember(): boolean {
    return this.#next(CLOSE_OBJECT, ", or }");
  }

  enterArray(): boolean {
    return this.#enter(OPEN_ARRAY, "[", CLOSE_ARRAY);
  }

  nextElement(): boolean {
    return this.#next(CLOSE_ARRAY, ", or ]");
  }

  /** Reads a key and its colon, and stops at the value. */
  readKey(): void {
    if (this.peek() !== QUOTE) throw this.fault("a key in quotes");
    this.keyStart = this.at + 1;
    this.skipString();
    this.keyEnd = this.at - 1;
    if (this.peek() !== COLON) throw this.fault(":");
    this.at++;
  }

  /** Whether the last key equals `name`. The key must have no escapes. */
  keyIs(name: Uint8Array): boolean {
    const { bytes, keyStart } = this;
    if (this.keyEnd - keyStart !== name.length) return false;
    for (let i = 0; i < name.length; i++) if (bytes[keyStart + i] !== name[i]) return false;
    return true;
  }

  /** Like keyIs, ignoring case; `name` must be lower-case letters. */
  keyFoldsTo(name: Uint8Array): boolean {
    const { bytes, keyStart } = this;
    if (this.keyEnd - keyStart !== name.length) return false;
    for (let i = 0; i < name.length; i++) if (((bytes[keyStart + i] as number) | 0x20) !== name[i]) return false;
    return true;
  }

  /** Skips a string, from its opening quote. */
  skipString(): void {
    const { bytes, at } = this;
    const stop = skipPlain(bytes, at, this.#lastQuote);
    this.escaped = bytes[stop] !== QUOTE;
    this.at = this.escaped ? endOfString(bytes, stop) : stop + 1;
  }

  /** Skips any value with everything inside it. */
  skipValue(): void {
    this.at = skipValue(this.bytes, this.at, this.#lastQuote, open, this.#depth);
  }

  fault(expected: string): RequestError {
    return faultAt(this.bytes, this.at, expected);
  }

  /** Throws unless only whitespace follows. */
  expectEnd(): void {
    this.peek();
    if (this.at < this.bytes.length) throw this.fault("nothing more");
  }

  #enter(opening: number, expected: string, closing: number): boolean {
    if (this.peek() !== opening) throw this.fault(expected);
    if (this.#depth >= MAX_DEPTH) throw this.fault(`no more than ${MAX_DEPTH} levels`);
    this.at++;
    if (this.peek() === closing) {
      this.at++;
      return false;
    }
    this.#depth++;
    return true;
  }

  #next(closing: number, expected: string): boolean {
    const byte = this.peek();
    if (byte !== COMMA && byte !== closing) throw this.fault(expected);
    this.at++;
    if (byte === COMMA) return true;
    this.#depth--;
    return false;
  }
}

/** For the error message: a binary search for the first invalid byte. */
function firstBrokenByte(bytes: Buffer): number {
  let good = 0;
  let bad = bytes.length;
  while (bad - good > 4) {
    let middle = (good + bad) >>> 1;
    // Do not split a multi-byte character.
    while (middle > good && ((bytes[middle] as number) & 0xc0) === 0x80) middle--;
    if (middle === good) break;
    if (isUtf8(bytes.subarray(good, middle))) good = middle;
    else bad = middle;
  }
  return good;
}
