const KEY = Buffer.from('"managedFields":[');
const NEWLINE = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const BRACE = 0x7d;

/**
 * Empties every `"managedFields":[…]` in JSON from an API server before parsing. They record
 * field ownership, are often half of an object, and Joulie does not use them; skipping them makes a watch cheap.
 * Works in place and returns the part that is left. Within a JSON string the key's quotes would be escaped, so it is never
 * found there; an array that does not end within its line is left for the parser to judge.
 */
export function withoutManagedFields(json: Buffer): Buffer {
  let written = 0;
  let read = 0;
  let lineEnd = -1;
  for (let key = json.indexOf(KEY); key >= 0; key = json.indexOf(KEY, key + KEY.length)) {
    const start = key + KEY.length;
    if (lineEnd < start) lineEnd = endOfLine(json, start);
    const end = quickEnd(json, start, lineEnd) ?? endOfArray(json, start, lineEnd);
    if (end === undefined) continue;
    if (written !== read) json.copyWithin(written, read, start);
    written += start - read;
    read = end;
    key = end - KEY.length;
  }
  if (read === 0) return json;
  json.copyWithin(written, read);
  return json.subarray(0, written + json.length - read);
}

function endOfLine(json: Buffer, start: number): number {
  const newline = json.indexOf(NEWLINE, start);
  return newline < 0 ? json.length : newline;
}

/**
 * The end as servers usually write it, found without looking at each byte: the first `]`, with no `[` before it and with
 * `},"s` or `,"s` after it. That is no place within a string, where a quote without a backslash would be the string's end,
 * and no letter follows that.
 */
function quickEnd(json: Buffer, start: number, lineEnd: number): number | undefined {
  const close = json.indexOf(CLOSE, start);
  if (close < 0 || close >= lineEnd) return undefined;
  const open = json.indexOf(OPEN, start);
  if (open >= 0 && open < close) return undefined;
  const comma = json[close + 1] === BRACE ? close + 2 : close + 1;
  const letter = json[comma + 2] ?? 0;
  const isLetter = letter >= 0x61 && letter <= 0x7a;
  return json[comma] === COMMA && json[comma + 1] === QUOTE && isLetter ? close : undefined;
}

/** The end of the array whose content begins at `start`; scans every byte. */
function endOfArray(json: Buffer, start: number, lineEnd: number): number | undefined {
  let depth = 1;
  for (let at = start; at < lineEnd; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfString(json, at + 1, lineEnd);
    else if (byte === OPEN) depth++;
    else if (byte === CLOSE && --depth === 0) return at;
  }
  return undefined;
}

function endOfString(json: Buffer, start: number, lineEnd: number): number {
  for (let at = start; at < lineEnd; at++) {
    const byte = json[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at++;
  }
  return lineEnd;
}
