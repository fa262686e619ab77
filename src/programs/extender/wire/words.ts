// Bytes four at a time, from any place to any other: V8 makes one machine instruction of each read of a DataView, where a loop
// over bytes takes four. Names of nodes are compared and copied thousands at a time.

const WORD = 4;

export const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

/** Are from[start, end) the bytes that begin at `at` of the other one, which must be as long? */
export function sameBytes(from: DataView, start: number, end: number, other: DataView, at: number): boolean {
  const lastWord = end - WORD;
  const offset = at - start;
  let p = start;
  for (; p <= lastWord; p += WORD) if (from.getInt32(p) !== other.getInt32(p + offset)) return false;
  for (; p < end; p++) if (from.getUint8(p) !== other.getUint8(p + offset)) return false;
  return true;
}

/** Copies from[start, end) to the place `at` of the other one; gives the place behind it. */
export function copyBytes(from: DataView, start: number, end: number, to: DataView, at: number): number {
  const lastWord = end - WORD;
  const offset = at - start;
  let p = start;
  for (; p <= lastWord; p += WORD) to.setInt32(p + offset, from.getInt32(p));
  for (; p < end; p++) to.setUint8(p + offset, from.getUint8(p));
  return end + offset;
}
