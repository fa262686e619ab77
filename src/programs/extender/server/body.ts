import type { IncomingMessage } from "node:http";
import type { BodyBuffers } from "./body-buffers.ts";
import type { MemoryLease } from "./memory-budget.ts";

export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** The client closed the connection: an answer is not needed. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";
}
const clientGone = () => new ClientGoneError("the client disconnected before the request was complete");

/** So much of a body must have arrived before a buffer for the announced length is allocated. */
const FIRST_BUFFER_BYTES = 1024 * 1024;

export function contentLengthOf({ headers }: IncomingMessage): number | undefined {
  const text = headers["content-length"];
  return text === undefined ? undefined : Number(text);
}

/** `bytes` is the start of `buffer`, which may be longer. */
export interface Body {
  readonly bytes: Buffer;
  readonly buffer: Buffer;
}

export interface BodyOptions {
  readonly length: number | undefined;
  readonly limit: number;
  readonly buffers: BodyBuffers;
  readonly lease: MemoryLease;
  readonly signal: AbortSignal;
}

/** Reads the whole body into one buffer. With a known length the buffer is allocated early, which avoids copying 30 MB. */
export async function readBody(request: IncomingMessage, options: BodyOptions): Promise<Body> {
  const { length, limit, buffers, lease, signal } = options;
  let buffer: Buffer = EMPTY;
  let filled = 0;
  const { promise, resolve, reject } = Promise.withResolvers<Body>();
  const allocate = (needed: number): Buffer => {
    const whole = length ?? Math.min(limit, Math.max(needed, 2 * filled));
    return buffers.take(whole, filled === 0 ? Math.max(needed, FIRST_BUFFER_BYTES) : whole);
  };
  const end = (reason: unknown) => {
    // Discard the rest of the body.
    request.off("data", receive).resume();
    reject(reason);
  };
  const receive = (chunk: Buffer) => {
    const needed = filled + chunk.length;
    try {
      if (needed > limit) throw bodyTooLarge(limit);
      lease.reserve(chunk.length);
    } catch (error) {
      end(error);
      return;
    }
    if (needed > buffer.length) {
      const next = allocate(needed);
      buffer.copy(next, 0, 0, filled);
      buffer = next;
    }
    chunk.copy(buffer, filled);
    buffers.copied(chunk.length);
    filled = needed;
  };
  signal.addEventListener("abort", () => end(signal.reason), { once: true });
  request.on("data", receive);
  request.once("end", () => resolve({ bytes: buffer.subarray(0, filled), buffer }));
  request.once("error", () => reject(clientGone()));
  request.once("close", () => {
    if (!request.complete) reject(clientGone());
  });
  return promise;
}

const EMPTY = Buffer.alloc(0);

export const bodyTooLarge = (limit: number): HttpError =>
  new HttpError(413, `the request is larger than ${limit} bytes; raise EXTENDER_MAX_BODY_BYTES to allow it`);
