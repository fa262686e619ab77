const KEY = Buffer.from('"managedFields":[');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/**
 * Empties every `"managedFields":[…]` in JSON that an API server wrote, before it is parsed. They are the server's own book
 * of who wrote which field, often half of an object, and nobody keeps them: not parsing them is what makes a watch cheap.
 * Works in place and returns the part that is left. Within a JSON string the key's quotes would be escaped, so it is never
 * found there; an array that does not end is left for the parser to judge.
 */
export function withoutManagedFields(json: Buffer): Buffer {
  let written = 0;
  let read = 0;
  for (let key = json.indexOf(KEY); key >= 0; key = json.indexOf(KEY, read)) {
    const start = key + KEY.length;
    const end = endOfArray(json, start);
    if (end < 0) break;
    if (written !== read) json.copyWithin(written, read, start);
    written += start - read;
    read = end;
  }
  if (read === 0) return json;
  json.copyWithin(written, read);
  return json.subarray(0, written + json.length - read);
}

/** Where the array whose content begins at `start` closes; -1 when it does not. Every byte of a watch passes here: plain loops. */
function endOfArray(json: Buffer, start: number): number {
  const { length } = json;
  let depth = 1;
  for (let at = start; at < length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfString(json, at + 1, length);
    else if (byte === OPEN) depth++;
    else if (byte === CLOSE && --depth === 0) return at;
  }
  return -1;
}

function endOfString(json: Buffer, start: number, length: number): number {
  for (let at = start; at < length; at++) {
    const byte = json[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at++;
  }
  return length;
}
