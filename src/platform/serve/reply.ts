import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { errorMessageOf } from "../../core/api/index.ts";
import { printable, redactText } from "../log/index.ts";

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

/** Returns the reason for a failure; undefined if the check passes. It must answer from memory, without waiting. */
type HealthCheck = () => string | undefined;

/** Checks by name. Without checks the page always reports success. */
export type HealthChecks = Readonly<Record<string, HealthCheck>>;

/** 200 if all checks pass, else 503. The body lists every check, with the reason of a failure. */
export function healthReply(good: string, checks: HealthChecks): Reply {
  const results = Object.entries(checks).map(([name, check]) => ({ name, reason: reasonOf(check) }));
  const failed = results.filter(({ reason }) => reason !== undefined).length;
  const lines = results.map(({ name, reason }) => (reason === undefined ? `[+] ${name}` : `[-] ${name}: ${reason}`));
  const summary = failed === 0 ? good : `not ${good}: ${failed} of ${results.length} checks failed`;
  return textReply(failed === 0 ? 200 : 503, [...lines, summary].join("\n"));
}

function reasonOf(check: HealthCheck): string | undefined {
  let reason: string | undefined;
  try {
    reason = check();
  } catch (error) {
    reason = `the check threw an error: ${errorMessageOf(error)}`;
  }
  return reason === undefined ? undefined : printable(redactText(reason));
}
