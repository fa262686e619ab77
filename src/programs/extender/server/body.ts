import type { IncomingMessage } from "node:http";
import type { BodyBuffers } from "./body-buffers.ts";
import { HttpError } from "./http-error.ts";
import type { MemoryLease } from "./memory-budget.ts";
import { ReceivedBody, type StalledRequests } from "./stalled-requests.ts";

/** Nobody waits for an answer. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";
}
const gone = () => new ClientGoneError("the client left before its request was whole");

/** As much of a body must be here before there is room for what it only announces. */
const FIRST_ROOM = 1024 * 1024;

/** How many bytes a request says it has; undefined where it comes in chunks of its own making. */
export function contentLengthOf({ headers }: IncomingMessage): number | undefined {
  const text = headers["content-length"];
  return text === undefined ? undefined : Number(text);
}

/** A body, at the beginning of a buffer that may be longer. */
export interface Body {
  readonly bytes: Buffer;
  readonly buffer: Buffer;
}

export interface BodyOptions {
  readonly length: number | undefined;
  readonly limit: number;
  readonly buffers: BodyBuffers;
  readonly room: MemoryLease;
  readonly stalled: StalledRequests;
}

/** The whole body in one buffer, as long as all of it from early on where the length is known: 30 MB are not copied together. */
export async function readBody(request: IncomingMessage, options: BodyOptions): Promise<Body> {
  const { length, limit, buffers, room, stalled } = options;
  // Whoever left while waiting for room has said so already, and would not say it again.
  if (request.destroyed) throw gone();
  let buffer: Buffer = NOTHING;
  let filled = 0;
  const { promise, resolve, reject } = Promise.withResolvers<Body>();
  const longer = (needed: number): Buffer => {
    const whole = length ?? Math.min(limit, Math.max(needed, 2 * filled));
    return buffers.take(whole, filled === 0 ? Math.max(needed, FIRST_ROOM) : whole);
  };
  const end = (reason: unknown) => {
    // What still comes is let go by.
    request.off("data", take).resume();
    reject(reason);
  };
  const body = new ReceivedBody(end);
  const take = (chunk: Buffer) => {
    const needed = filled + chunk.length;
    try {
      if (needed > limit) throw bodyTooLarge(limit);
      room.reserve(chunk.length);
    } catch (error) {
      end(error);
      return;
    }
    if (needed > buffer.length) {
      const next = longer(needed);
      buffer.copy(next, 0, 0, filled);
      buffer = next;
    }
    chunk.copy(buffer, filled);
    buffers.copied(chunk.length);
    filled = body.received = needed;
  };
  stalled.watchBody(body);
  room.onPreempt(end);
  request.on("data", take);
  request.once("end", () => resolve({ bytes: buffer.subarray(0, filled), buffer }));
  request.once("error", () => reject(gone()));
  request.once("close", () => {
    if (!request.complete) reject(gone());
  });
  try {
    return await promise;
  } finally {
    stalled.forgetBody(body);
    room.onPreempt(undefined);
  }
}

const NOTHING = Buffer.alloc(0);

export const bodyTooLarge = (limit: number): HttpError =>
  new HttpError(413, `the request is larger than ${limit} bytes; EXTENDER_MAX_BODY_BYTES allows more`);
