/** Below this size copying is cheaper than one more buffer in a vectored write. */
const SMALL = 4096;
const BLOCK = 262_144;

/**
 * Joins adjacent small buffers; large ones stay as they are. A reply can consist of thousands of small slices, which would take
 * longer to send than to compute.
 */
export function coalesceBuffers(buffers: readonly Buffer[]): Buffer[] {
  const joined: Buffer[] = [];
  let run: Buffer[] = [];
  let length = 0;
  const flush = (): void => {
    const [only] = run;
    if (only !== undefined) joined.push(run.length === 1 ? only : Buffer.concat(run, length));
    run = [];
    length = 0;
  };
  for (const buffer of buffers) {
    if (buffer.length === 0) continue;
    if (buffer.length >= SMALL) {
      flush();
      joined.push(buffer);
      continue;
    }
    if (length + buffer.length > BLOCK) flush();
    run.push(buffer);
    length += buffer.length;
  }
  flush();
  return joined;
}
