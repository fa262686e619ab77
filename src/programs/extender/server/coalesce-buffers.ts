/** Below this a copy costs less than one more piece for the kernel to gather. */
const SMALL = 4096;
const BLOCK = 262_144;

/**
 * The same bytes in few pieces: neighbours that are small are copied together, large ones stay the slices they are. The names
 * that are left of 5,000 can be 2,500 pieces of 40 bytes, which take longer to send than to work out.
 */
export function coalesceBuffers(pieces: readonly Buffer[]): Buffer[] {
  const few: Buffer[] = [];
  let run: Buffer[] = [];
  let length = 0;
  const close = (): void => {
    const [only] = run;
    if (only !== undefined) few.push(run.length === 1 ? only : Buffer.concat(run, length));
    run = [];
    length = 0;
  };
  for (const piece of pieces) {
    if (piece.length === 0) continue;
    if (piece.length >= SMALL) {
      close();
      few.push(piece);
      continue;
    }
    if (length + piece.length > BLOCK) close();
    run.push(piece);
    length += piece.length;
  }
  close();
  return few;
}
