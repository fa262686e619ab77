import { once } from "node:events";
import type { ServerResponse } from "node:http";

/** A response before it is sent. A streamed body is produced while it is sent, and not produced if the client has gone. */
export interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string | AsyncIterable<string>;
  readonly headers?: Readonly<Record<string, string>>;
}

export const textReply = (status: number, text: string, headers: Readonly<Record<string, string>> = {}): Reply => ({
  status,
  type: "text/plain; charset=utf-8",
  body: `${text}\n`,
  headers,
});

/** Sends the response as fast as the client reads it. */
export async function sendReply(reply: Reply, response: ServerResponse, withBody: boolean): Promise<void> {
  const { status, type, body, headers } = reply;
  const length = typeof body === "string" ? { "content-length": Buffer.byteLength(body) } : {};
  response.writeHead(status, {
    "content-type": type,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...length,
    ...headers,
  });
  if (!withBody) {
    response.end();
  } else if (typeof body === "string") {
    response.end(body);
  } else {
    for await (const piece of body) {
      if (!response.write(piece)) await writable(response);
      // The client has gone: do not produce the rest.
      if (response.destroyed) return;
    }
    response.end();
  }
}

async function writable(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const over = new AbortController();
  try {
    await Promise.race(
      ["drain", "close"].map(async (event) => once(response, event, { signal: over.signal }).catch(() => undefined)),
    );
  } finally {
    over.abort();
  }
}
