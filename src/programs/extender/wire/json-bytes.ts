/** A request that cannot be read: 400 if it is malformed, 413 if it exceeds a limit. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: 400 | 413;

  constructor(message: string, status: RequestError["status"] = 400) {
    super(message);
    this.status = status;
  }
}

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const SPACE = 0x20;
const BACKSLASH = 0x5c;

/** 1 for bytes that end a plain run inside a string: a quote, an escape, a control character. */
const stops = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < SPACE || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);
/** 1 for bytes that a value without quotes and brackets cannot contain. */
const delimiters = tableOf('",:[]{} \t\n\r');
const spaces = tableOf(" \t\n\r");
/** 1 for quotes and brackets. */
const structure = tableOf('"[]{}');

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of Buffer.from(characters)) table[byte] = 1;
  return table;
}

// Plain functions that take bytes and a position and return the position behind what they skipped: V8 inlines them.

/** 0, which is no token, behind the end. An out-of-bounds read would make V8 deoptimize the array access. */
export function byteAt(bytes: Buffer, p: number, end: number): number {
  return p < end ? (bytes[p] as number) : 0;
}

export function skipSpaces(bytes: Buffer, from: number, end: number): number {
  let p = from;
  while (p < end && spaces[bytes[p] as number] === 1) p++;
  return p;
}

/** From a string's opening quote to its first byte that is not plain. The body's last quote bounds the loop. */
export function skipPlain(bytes: Buffer, quote: number, lastQuote: number): number {
  let p = quote + 1;
  if (p > lastQuote) throw faultAt(bytes, bytes.length, "the end of a string");
  while (stops[bytes[p] as number] === 0) p++;
  return p;
}

export function skipString(bytes: Buffer, quote: number, lastQuote: number): number {
  let p = skipPlain(bytes, quote, lastQuote);
  while (bytes[p] !== QUOTE) {
    const lastSkipped = bytes[p] === BACKSLASH ? p + 1 : p;
    p = skipPlain(bytes, lastSkipped, lastQuote);
  }
  return p + 1;
}

/** Skips any value by its quotes and brackets. It does not check what is between them: nothing reads it. */
export function skipValue(bytes: Buffer, from: number, lastQuote: number): number {
  const end = bytes.length;
  let p = skipSpaces(bytes, from, end);
  const first = byteAt(bytes, p, end);
  if (first === QUOTE) return skipString(bytes, p, lastQuote);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return skipScalar(bytes, p);
  let depth = 0;
  while (p < end) {
    const byte = bytes[p] as number;
    if (structure[byte] === 0) {
      p++;
    } else if (byte === QUOTE) {
      p = skipString(bytes, p, lastQuote);
    } else {
      p++;
      depth += byte === OPEN_OBJECT || byte === OPEN_ARRAY ? 1 : -1;
      if (depth === 0) return p;
    }
  }
  throw faultAt(bytes, end, "the end of a value");
}

function skipScalar(bytes: Buffer, from: number): number {
  let p = from;
  while (p < bytes.length && delimiters[bytes[p] as number] === 0) p++;
  if (p === from) throw faultAt(bytes, from, "a value");
  return p;
}

export function faultAt(bytes: Buffer, at: number, expected: string): RequestError {
  return new RequestError(
    `the body is not as expected at byte ${at}: expected ${expected}, found ${describeByte(bytes, at)}`,
  );
}

function describeByte(bytes: Buffer, at: number): string {
  if (at >= bytes.length) return "the end";
  const byte = bytes[at] as number;
  if (byte === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf) return "a byte order mark";
  return byte > SPACE && byte < 0x7f ? String.fromCharCode(byte) : `0x${byte.toString(16).padStart(2, "0")}`;
}
