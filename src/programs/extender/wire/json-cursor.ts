import { isUtf8 } from "node:buffer";
import {
  byteAt,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  faultAt,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  RequestError,
  SPACE,
  skipPlain,
  skipSpaces,
  skipString,
  skipValue,
} from "./json-bytes.ts";

/** Walks over JSON bytes without building objects. Of skipped values it checks only that strings and brackets end. */
export class JsonCursor {
  readonly bytes: Buffer;
  at = 0;
  keyStart = 0;
  keyEnd = 0;
  readonly #lastQuote: number;

  constructor(bytes: Buffer) {
    if (!isUtf8(bytes)) throw new RequestError("the body is not UTF-8");
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

  /** Whether the last key equals `name`. A key with escapes equals no name. */
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

  skipString(): void {
    this.at = skipString(this.bytes, this.at, this.#lastQuote);
  }

  /** Like skipString. Returns whether the bytes of the string are its characters: no escapes and no control characters. */
  skipPlainString(): boolean {
    const end = skipPlain(this.bytes, this.at, this.#lastQuote);
    const isPlain = this.bytes[end] === QUOTE;
    if (isPlain) this.at = end + 1;
    else this.skipString();
    return isPlain;
  }

  skipValue(): void {
    this.at = skipValue(this.bytes, this.at, this.#lastQuote);
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
    this.at++;
    if (this.peek() !== closing) return true;
    this.at++;
    return false;
  }

  #next(closing: number, expected: string): boolean {
    const byte = this.peek();
    if (byte !== COMMA && byte !== closing) throw this.fault(expected);
    this.at++;
    return byte === COMMA;
  }
}
