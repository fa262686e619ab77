import type { IncomingMessage } from "node:http";
import type { BodyBuffers } from "./body-buffers.ts";
import { Refusal } from "./refusal.ts";

/** Nobody waits for an answer. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";
}
const gone = () => new ClientGoneError("the client left before its request was whole");

/** Where a body of unknown length begins to grow. */
const FIRST_ROOM = 65_536;

/** How many bytes a request says it has; undefined where it comes in chunks of its own making. */
export function lengthOf({ headers }: IncomingMessage): number | undefined {
  const text = headers["content-length"];
  return text === undefined ? undefined : Number(text);
}

/** A body, at the beginning of a buffer that may be longer. */
export interface Body {
  readonly bytes: Buffer;
  readonly buffer: Buffer;
}

/** The whole body in one buffer, which is there from the start where the length is known: 30 MB are not copied together. */
export async function readBody(
  request: IncomingMessage,
  length: number | undefined,
  limit: number,
  buffers: BodyBuffers,
): Promise<Body> {
  // Whoever left while waiting for room has said so already, and would not say it again.
  if (request.destroyed) throw gone();
  let buffer = buffers.take(length ?? Math.min(FIRST_ROOM, limit));
  let filled = 0;
  const { promise, resolve, reject } = Promise.withResolvers<Body>();
  const take = (chunk: Buffer) => {
    const needed = filled + chunk.length;
    if (needed > limit) {
      // What still comes is let go by.
      request.off("data", take).resume();
      reject(tooLarge(limit));
      return;
    }
    if (needed > buffer.length) {
      const longer = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(needed, buffer.length * 2)));
      buffer.copy(longer, 0, 0, filled);
      buffer = longer;
    }
    chunk.copy(buffer, filled);
    filled = needed;
  };
  request.on("data", take);
  request.once("end", () => resolve({ bytes: buffer.subarray(0, filled), buffer }));
  request.once("error", () => reject(gone()));
  request.once("close", () => {
    if (!request.complete) reject(gone());
  });
  return promise;
}

export const tooLarge = (limit: number): Refusal =>
  new Refusal(413, `the request is larger than ${limit} bytes; EXTENDER_MAX_BODY_BYTES allows more`);
