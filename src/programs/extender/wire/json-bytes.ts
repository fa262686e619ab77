import { RequestError } from "./request-error.ts";

/** The limit of Go's encoding/json. kube-scheduler's own documents stay under 30. */
export const MAX_DEPTH = 10_000;

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const SPACE = 0x20;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const LETTER_E = 0x65;
const LETTER_U = 0x75;
/** The byte difference between an opening brace or bracket and its closing one. */
const TO_CLOSING = 2;

/** 1 for bytes that end a plain run inside a string: a quote, an escape, a control character. */
const stops = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < SPACE || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);
const digits = tableOf("0123456789");
const hexDigits = tableOf("0123456789abcdefABCDEF");
const escapes = tableOf('"\\/bfnrt');
const spaces = tableOf(" \t\n\r");
/** true, false and null by their first byte. */
const words = Array.from({ length: 256 }, (_, byte) =>
  ["true", "false", "null"].map((word) => Buffer.from(word)).find((word) => word[0] === byte),
);

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of Buffer.from(characters)) table[byte] = 1;
  return table;
}

// Plain functions that take bytes and a position and return the position behind what they skipped: V8 inlines them into the loop
// below. As private methods they took a fifth longer.

/** 0, which is no token, behind the end. An out-of-bounds read would make V8 deoptimize the array access. */
export function byteAt(bytes: Buffer, p: number, end: number): number {
  return p < end ? (bytes[p] as number) : 0;
}

export function skipSpaces(bytes: Buffer, from: number, end: number): number {
  let p = from;
  while (p < end && spaces[bytes[p] as number] === 1) p++;
  return p;
}

/**
 * From a string's opening quote to its first byte that is not plain: its end, an escape, a control character. No string ends
 * behind the body's last quote, so the loop needs no bounds check per byte.
 */
export function skipPlain(bytes: Buffer, quote: number, lastQuote: number): number {
  let p = quote + 1;
  if (p > lastQuote) throw faultAt(bytes, bytes.length, "the end of a string");
  while (stops[bytes[p] as number] === 0) p++;
  return p;
}

function skipString(bytes: Buffer, quote: number, lastQuote: number): number {
  const p = skipPlain(bytes, quote, lastQuote);
  return bytes[p] === QUOTE ? p + 1 : endOfString(bytes, p);
}

/** Skips any value with everything inside it. `open` is a stack of open brackets, of which `floor` surround the value. */
export function skipValue(bytes: Buffer, from: number, lastQuote: number, open: Uint8Array, floor: number): number {
  const end = bytes.length;
  let depth = floor;
  let p = from;
  value: for (;;) {
    let byte = byteAt(bytes, p, end);
    if (byte <= SPACE) {
      p = skipSpaces(bytes, p, end);
      byte = byteAt(bytes, p, end);
    }
    if (byte === QUOTE) {
      p = skipString(bytes, p, lastQuote);
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (depth >= MAX_DEPTH) throw faultAt(bytes, p, `no more than ${MAX_DEPTH} levels`);
      p++;
      let first = byteAt(bytes, p, end);
      if (first <= SPACE) {
        p = skipSpaces(bytes, p, end);
        first = byteAt(bytes, p, end);
      }
      if (first === byte + TO_CLOSING) {
        p++;
      } else {
        open[++depth] = byte;
        if (byte === OPEN_OBJECT) p = skipKey(bytes, p, lastQuote);
        continue;
      }
    } else {
      p = skipScalar(bytes, p);
    }
    // Behind a value: close everything that ends here, up to the next comma.
    for (;;) {
      if (depth === floor) return p;
      byte = byteAt(bytes, p, end);
      if (byte <= SPACE) {
        p = skipSpaces(bytes, p, end);
        byte = byteAt(bytes, p, end);
      }
      const opened = open[depth] as number;
      if (byte === COMMA) {
        p++;
        if (opened === OPEN_OBJECT) p = skipKey(bytes, p, lastQuote);
        continue value;
      }
      if (byte !== opened + TO_CLOSING) throw faultAt(bytes, p, opened === OPEN_OBJECT ? ", or }" : ", or ]");
      p++;
      depth--;
    }
  }
}

/** Skips a key and its colon. */
function skipKey(bytes: Buffer, from: number, lastQuote: number): number {
  const end = bytes.length;
  let p = from;
  let byte = byteAt(bytes, p, end);
  if (byte <= SPACE) {
    p = skipSpaces(bytes, p, end);
    byte = byteAt(bytes, p, end);
  }
  if (byte !== QUOTE) throw faultAt(bytes, p, "a key in quotes");
  p = skipString(bytes, p, lastQuote);
  if (byteAt(bytes, p, end) !== COLON) {
    p = skipSpaces(bytes, p, end);
    if (byteAt(bytes, p, end) !== COLON) throw faultAt(bytes, p, ":");
  }
  return p + 1;
}

/** The rest of a string, from the first byte that is not plain. */
export function endOfString(bytes: Buffer, from: number): number {
  const end = bytes.length;
  let p = from;
  for (;;) {
    while (p < end && stops[bytes[p] as number] === 0) p++;
    if (p >= end) throw faultAt(bytes, end, "the end of a string");
    const byte = bytes[p] as number;
    if (byte === QUOTE) return p + 1;
    if (byte !== BACKSLASH) throw faultAt(bytes, p, "no bare control character in a string");
    p = endOfEscape(bytes, p + 1);
  }
}

function endOfEscape(bytes: Buffer, from: number): number {
  const byte = byteAt(bytes, from, bytes.length);
  if (escapes[byte] === 1) return from + 1;
  if (byte !== LETTER_U) throw faultAt(bytes, from, 'one of "\\/bfnrtu behind a backslash');
  for (let p = from + 1; p < from + 5; p++) {
    if (hexDigits[byteAt(bytes, p, bytes.length)] !== 1) throw faultAt(bytes, p, "four hexadecimal digits behind \\u");
  }
  return from + 5;
}

function skipScalar(bytes: Buffer, from: number): number {
  const end = bytes.length;
  let byte = byteAt(bytes, from, end);
  const word = words[byte];
  if (word !== undefined) return skipWord(bytes, from, word);
  let p = from;
  if (byte === MINUS) byte = byteAt(bytes, ++p, end);
  // No leading zeros.
  p = byte === ZERO ? p + 1 : skipDigits(bytes, p, p === from ? "a value" : "a digit");
  byte = byteAt(bytes, p, end);
  if (byte === POINT) {
    p = skipDigits(bytes, p + 1, "a digit behind the point");
    byte = byteAt(bytes, p, end);
  }
  if ((byte | 0x20) !== LETTER_E) return p;
  byte = byteAt(bytes, ++p, end);
  return skipDigits(bytes, byte === PLUS || byte === MINUS ? p + 1 : p, "a digit in the exponent");
}

function skipWord(bytes: Buffer, from: number, word: Buffer): number {
  for (let i = 0; i < word.length; i++) {
    if (byteAt(bytes, from + i, bytes.length) !== word[i]) throw faultAt(bytes, from + i, word.toString());
  }
  return from + word.length;
}

function skipDigits(bytes: Buffer, from: number, expected: string): number {
  const end = bytes.length;
  let p = from;
  while (p < end && digits[bytes[p] as number] === 1) p++;
  if (p === from) throw faultAt(bytes, from, expected);
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
