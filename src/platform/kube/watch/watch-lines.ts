import { ApiError } from "../client/errors.ts";
import { withoutManagedFields } from "./strip-managed-fields.ts";

const NEWLINE = 10;
/** etcd limits an object to 1.5 MiB by default, so a much longer line is not a watch event. */
const MAX_LINE_LENGTH = 16 * 2 ** 20;
const HELD = 128 * 2 ** 10;
const LARGE = 2 ** 20;

/**
 * Splits a body into lines, in batches as they arrive. Splits bytes before decoding, so that a character
 * that spans two chunks stays intact. A body that ends within a line is truncated: throws after yielding all complete
 * lines.
 */
export async function* linesOf(
  body: AsyncIterable<Uint8Array>,
  { lean = false, longest = MAX_LINE_LENGTH }: { lean?: boolean; longest?: number } = {},
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
  if (begun > 0) throw new ApiError("garbled", `the response ended in the middle of a line, after ${begun} bytes`);
}

/** Reuses the buffer; grows it when needed and shrinks it after a very long line. */
function withRoomFor(length: number, held: Buffer, begun: number): Buffer {
  if (length <= held.length && (held.length <= LARGE || length > held.length / 4)) return held;
  const room = Buffer.allocUnsafe(Math.max(HELD, 2 * length));
  held.copy(room, 0, 0, begun);
  return room;
}

/** Reads a body as text; throws when it exceeds `longest` bytes. */
export async function textOfBody(body: AsyncIterable<Uint8Array>, longest: number, lean = false): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > longest) throw new ApiError("tooLarge", `the response is longer than ${longest} bytes`);
    chunks.push(chunk);
  }
  return textOf(chunks, lean);
}

/** `lean` strips managedFields. */
function textOf(chunks: readonly Uint8Array[], lean: boolean): string {
  // Stripping works in place, so it needs a copy; the caller may own the received bytes.
  if (lean) return withoutManagedFields(Buffer.concat(chunks)).toString("utf8");
  const [only] = chunks;
  const bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
