import { ApiError } from "../client/errors.ts";
import { withoutManagedFields } from "./strip-managed-fields.ts";

const NEWLINE = 10;
/** An object in etcd is at most 1.5 MiB by default; what is much longer is not a watch. */
const LONGEST_LINE = 16 * 2 ** 20;
const HELD = 128 * 2 ** 10;
const LARGE = 2 ** 20;

/**
 * Cuts a body into its lines, as many at a time as have arrived. Bytes are cut before they become text, so a character
 * that is spread over two chunks stays whole. A body that ends within a line was torn: that is an error, after all whole
 * lines were handed out.
 */
export async function* linesOf(
  body: AsyncIterable<Uint8Array>,
  { lean = false, longest = LONGEST_LINE }: { lean?: boolean; longest?: number } = {},
): AsyncGenerator<readonly string[], void, undefined> {
  let held: Buffer = Buffer.allocUnsafe(HELD);
  let begun = 0;
  for await (const chunk of body) {
    const end = chunk.lastIndexOf(NEWLINE);
    if (end < 0 && begun + chunk.length > longest)
      throw new ApiError("garbled", `a line of more than ${longest} bytes`);
    held = withRoomFor(begun + chunk.length, held, begun);
    held.set(chunk, begun);
    if (end < 0) {
      begun += chunk.length;
      continue;
    }
    const whole = held.subarray(0, begun + end);
    const lines = (lean ? withoutManagedFields(whole) : whole).toString("utf8").split("\n");
    const rest = chunk.subarray(end + 1);
    begun = rest.length;
    held = withRoomFor(begun, held, 0);
    held.set(rest);
    yield lines;
  }
  if (begun > 0) throw new ApiError("garbled", `the answer ended in the middle of a line of ${begun} bytes or more`);
}

/** One place for the bytes of a watch, as long as it is neither too small nor, after a giant line, far too large. */
function withRoomFor(length: number, held: Buffer, begun: number): Buffer {
  if (length <= held.length && (held.length <= LARGE || length > held.length / 4)) return held;
  const room = Buffer.allocUnsafe(Math.max(HELD, 2 * length));
  held.copy(room, 0, 0, begun);
  return room;
}

/** All of a body as text, unless it is longer than we are ready to hold. */
export async function textOfBody(body: AsyncIterable<Uint8Array>, longest: number, lean = false): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > longest) throw new ApiError("tooLarge", `the answer is longer than ${longest} bytes`);
    chunks.push(chunk);
  }
  return textOf(chunks, lean);
}

/** `lean`: without what nobody keeps of an object. */
function textOf(chunks: readonly Uint8Array[], lean: boolean): string {
  // Cutting works in place, so it gets a copy; the bytes that arrived may belong to somebody.
  if (lean) return withoutManagedFields(Buffer.concat(chunks)).toString("utf8");
  const [only] = chunks;
  const bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
