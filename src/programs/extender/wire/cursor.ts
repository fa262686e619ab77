import { isUtf8 } from "node:buffer";
import { WireError } from "./wire-error.ts";

/** As Go's encoding/json has it. kube-scheduler's own documents stay under 30. */
const MAX_DEPTH = 10_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const SPACE = 0x20;
/** From an opening brace or bracket to its closing one. */
const TO_CLOSING = 2;

/** 1 for what a string cannot go on over without a look: its end, an escape, a control character. */
const stops = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < SPACE || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);
const digits = tableOf("0123456789");
const hexDigits = tableOf("0123456789abcdefABCDEF");
const escapes = tableOf('"\\/bfnrt');
const spaces = tableOf(" \t\n\r");
const literals = ["true", "false", "null"].map((word) => Buffer.from(word));

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of Buffer.from(characters)) table[byte] = 1;
  return table;
}

/**
 * Walks over JSON in bytes and builds nothing. It accepts exactly what JSON.parse accepts of UTF-8, up to a depth of 10,000:
 * what is skipped is checked as closely as what is read, so no malformed body passes because its fault lies in a part nobody asked for.
 */
export class Cursor {
  readonly bytes: Buffer;
  readonly end: number;
  /** Where the cursor stands. */
  at = 0;
  /** The last key, without its quotes. */
  keyStart = 0;
  keyEnd = 0;
  /** The last string had escapes: its bytes are not its characters. */
  escaped = false;
  #depth = 0;
  /** No string can end later: one look here spares the string loop a look at each byte whether the body ends. */
  readonly #lastQuote: number;
  /** The braces and brackets that are open in the value being skipped. */
  readonly #open = new Uint8Array(MAX_DEPTH + 2);

  constructor(bytes: Buffer) {
    if (!isUtf8(bytes)) throw new WireError(`the body is not UTF-8 at byte ${firstBrokenByte(bytes)}`);
    this.bytes = bytes;
    this.end = bytes.length;
    this.#lastQuote = bytes.lastIndexOf(QUOTE);
  }

  /** The byte of the next token; -1 where the body ends. */
  peek(): number {
    this.#skipSpaces();
    return this.at < this.end ? (this.bytes[this.at] as number) : -1;
  }

  /** Into an object: true when it has a first member, whose key comes next. */
  enterObject(): boolean {
    if (this.peek() !== OPEN_OBJECT) throw this.fault("{");
    return this.#enter(CLOSE_OBJECT);
  }

  /** Behind a member: true when another follows. */
  nextMember(): boolean {
    return this.#next(CLOSE_OBJECT, ", or }");
  }

  enterArray(): boolean {
    if (this.peek() !== OPEN_ARRAY) throw this.fault("[");
    return this.#enter(CLOSE_ARRAY);
  }

  nextElement(): boolean {
    return this.#next(CLOSE_ARRAY, ", or ]");
  }

  /** Over a key and its colon, to the value. */
  readKey(): void {
    if (this.peek() !== QUOTE) throw this.fault("a key in quotes");
    this.keyStart = this.at + 1;
    this.skipString();
    this.keyEnd = this.at - 1;
    if (this.peek() !== COLON) throw this.fault(":");
    this.at++;
    this.#skipSpaces();
  }

  /** Is the last key, which must have no escapes, spelled like this? */
  keyIs(name: Uint8Array): boolean {
    const { bytes, keyStart } = this;
    if (this.keyEnd - keyStart !== name.length) return false;
    for (let i = 0; i < name.length; i++) if (bytes[keyStart + i] !== name[i]) return false;
    return true;
  }

  /** Over a string, from its opening quote. */
  skipString(): void {
    const { bytes } = this;
    let p = this.at + 1;
    if (p > this.#lastQuote) throw this.faultAt(this.end, "the end of a string");
    while (stops[bytes[p] as number] === 0) p++;
    this.escaped = bytes[p] !== QUOTE;
    this.at = this.escaped ? this.#endOfString(p) : p + 1;
  }

  /** Over any value, with all that is in it. */
  skipValue(): void {
    const { bytes, end } = this;
    const open = this.#open;
    const lastQuote = this.#lastQuote;
    const floor = this.#depth;
    let depth = floor;
    let p = this.at;
    for (;;) {
      // A value starts here.
      let byte = p < end ? (bytes[p] as number) : 0;
      if (byte <= SPACE) {
        p = this.#spacesFrom(p);
        if (p >= end) throw this.faultAt(p, "a value");
        byte = bytes[p] as number;
      }
      let inObject = false;
      if (byte === QUOTE) {
        p++;
        if (p > lastQuote) throw this.faultAt(end, "the end of a string");
        while (stops[bytes[p] as number] === 0) p++;
        p = bytes[p] === QUOTE ? p + 1 : this.#endOfString(p);
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (depth >= MAX_DEPTH) throw this.faultAt(p, `no more than ${MAX_DEPTH} levels`);
        p++;
        if (p < end && (bytes[p] as number) <= SPACE) p = this.#spacesFrom(p);
        if (p < end && bytes[p] === byte + TO_CLOSING) p++;
        else {
          open[++depth] = byte;
          if (byte === OPEN_ARRAY) continue;
          inObject = true;
        }
      } else {
        p = this.#endOfScalar(p);
      }
      // Behind a value, or at the first key of an object.
      while (!inObject) {
        if (depth === floor) {
          this.at = p;
          return;
        }
        byte = p < end ? (bytes[p] as number) : 0;
        if (byte <= SPACE) {
          p = this.#spacesFrom(p);
          byte = p < end ? (bytes[p] as number) : 0;
        }
        const opened = open[depth] as number;
        if (byte === COMMA) {
          p++;
          inObject = opened === OPEN_OBJECT;
          break;
        }
        if (byte !== opened + TO_CLOSING) throw this.faultAt(p, opened === OPEN_OBJECT ? ", or }" : ", or ]");
        p++;
        depth--;
      }
      if (!inObject) continue;
      // A key and its colon.
      if (p < end && (bytes[p] as number) <= SPACE) p = this.#spacesFrom(p);
      if (p >= end || bytes[p] !== QUOTE) throw this.faultAt(p, "a key in quotes");
      p++;
      if (p > lastQuote) throw this.faultAt(end, "the end of a string");
      while (stops[bytes[p] as number] === 0) p++;
      p = bytes[p] === QUOTE ? p + 1 : this.#endOfString(p);
      if (p < end && (bytes[p] as number) <= SPACE) p = this.#spacesFrom(p);
      if (p >= end || bytes[p] !== COLON) throw this.faultAt(p, ":");
      p++;
    }
  }

  fault(expected: string): WireError {
    return this.faultAt(this.at, expected);
  }

  faultAt(at: number, expected: string): WireError {
    return new WireError(`the body is not as expected at byte ${at}: expected ${expected}, found ${this.#shown(at)}`);
  }

  #enter(closing: number): boolean {
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

  #skipSpaces(): void {
    if (this.at < this.end && (this.bytes[this.at] as number) <= SPACE) this.at = this.#spacesFrom(this.at);
  }

  #spacesFrom(from: number): number {
    let p = from;
    while (p < this.end && spaces[this.bytes[p] as number] === 1) p++;
    return p;
  }

  /** The rest of a string from where it first stopped; behind its closing quote. */
  #endOfString(from: number): number {
    const { bytes, end } = this;
    let p = from;
    for (;;) {
      while (p < end && stops[bytes[p] as number] === 0) p++;
      if (p >= end) throw this.faultAt(end, "the end of a string");
      const byte = bytes[p] as number;
      if (byte === QUOTE) return p + 1;
      if (byte !== BACKSLASH) throw this.faultAt(p, "no bare control character in a string");
      p = this.#endOfEscape(p + 1);
    }
  }

  #endOfEscape(from: number): number {
    const { bytes, end } = this;
    if (from >= end) throw this.faultAt(end, "the end of a string");
    const byte = bytes[from] as number;
    if (escapes[byte] === 1) return from + 1;
    if (byte !== 0x75) throw this.faultAt(from, 'one of "\\/bfnrtu behind a backslash');
    for (let p = from + 1; p < from + 5; p++) {
      if (p >= end || hexDigits[bytes[p] as number] !== 1) throw this.faultAt(p, "four hexadecimal digits behind \\u");
    }
    return from + 5;
  }

  #endOfScalar(from: number): number {
    const { bytes, end } = this;
    for (const word of literals) {
      if (bytes[from] === word[0]) {
        for (let i = 1; i < word.length; i++) {
          if (from + i >= end || bytes[from + i] !== word[i]) throw this.faultAt(from + i, word.toString());
        }
        return from + word.length;
      }
    }
    let p = bytes[from] === 0x2d ? from + 1 : from;
    if (p < end && bytes[p] === 0x30) p++;
    else p = this.#endOfDigits(p, p === from ? "a value" : "a digit");
    if (p < end && bytes[p] === 0x2e) p = this.#endOfDigits(p + 1, "a digit behind the point");
    if (p < end && ((bytes[p] as number) | 0x20) === 0x65) {
      p++;
      if (p < end && (bytes[p] === 0x2b || bytes[p] === 0x2d)) p++;
      p = this.#endOfDigits(p, "a digit in the exponent");
    }
    return p;
  }

  #endOfDigits(from: number, expected: string): number {
    let p = from;
    while (p < this.end && digits[this.bytes[p] as number] === 1) p++;
    if (p === from) throw this.faultAt(from, expected);
    return p;
  }

  #shown(at: number): string {
    if (at >= this.end) return "the end";
    const byte = this.bytes[at] as number;
    if (byte === 0xef && this.bytes[at + 1] === 0xbb && this.bytes[at + 2] === 0xbf) return "a byte order mark";
    return byte > SPACE && byte < 0x7f ? String.fromCharCode(byte) : `0x${byte.toString(16).padStart(2, "0")}`;
  }
}

/** For the message only: halves the body until the fault stands alone. */
function firstBrokenByte(bytes: Buffer): number {
  let good = 0;
  let bad = bytes.length;
  while (bad - good > 4) {
    let middle = (good + bad) >> 1;
    // Not between the bytes of one character.
    while (middle > good && ((bytes[middle] as number) & 0xc0) === 0x80) middle--;
    if (middle === good) break;
    if (isUtf8(bytes.subarray(good, middle))) good = middle;
    else bad = middle;
  }
  return good;
}
