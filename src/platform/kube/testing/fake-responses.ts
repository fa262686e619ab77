// Complete and broken responses for fake-api.ts, for tests.
import type { ApiResponse } from "../client/transport.ts";

export interface Watcher {
  readonly path: string;
  /** Sends raw text. */
  send(text: string): void;
  /** Ends the response, optionally with an error. */
  end(error?: Error): void;
  /** Silently drops all further data. */
  freeze(): void;
}

export function openBody(path: string, signal: AbortSignal, closed: () => void) {
  const chunks: Uint8Array[] = [];
  let ended: { error?: Error } | undefined;
  let frozen = false;
  let wake = () => {};
  const watcher: Watcher = {
    path,
    send: (text) => {
      if (frozen || ended !== undefined) return;
      chunks.push(Buffer.from(text));
      wake();
    },
    end: (error) => {
      closed();
      if (frozen || ended !== undefined) return;
      ended = error === undefined ? {} : { error };
      wake();
    },
    freeze: () => {
      frozen = true;
    },
  };
  async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
    const stop = () => wake();
    signal.addEventListener("abort", stop);
    try {
      for (;;) {
        signal.throwIfAborted();
        const chunk = chunks.shift();
        if (chunk !== undefined) yield chunk;
        else if (ended !== undefined) break;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
      if (ended?.error !== undefined) throw ended.error;
    } finally {
      signal.removeEventListener("abort", stop);
      closed();
    }
  }
  return { watcher, body: body() };
}

export function jsonResponse(
  code: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  return { status: code, headers, body: once(Buffer.from(JSON.stringify(value))) };
}

export const status = (code: number, reason: string, message: string) => ({ kind: "Status", code, reason, message });

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

export function truncatedResponse(response: ApiResponse): ApiResponse {
  async function* half(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of response.body) {
      yield chunk.subarray(0, chunk.length >> 1);
      throw new Error("other side closed");
    }
  }
  return { ...response, body: half() };
}

export async function waitForAbort(signal: AbortSignal): Promise<never> {
  return new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
