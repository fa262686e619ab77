import type { Dispatcher, Pool as WholePool } from "undici";
import request from "undici/lib/api/api-request.js";
import buildConnector from "undici/lib/core/connect.js";
import Agent from "undici/lib/dispatcher/agent.js";
import Pool from "undici/lib/dispatcher/pool.js";

export { isLoopbackHost, sendsInTheClear } from "./loopback.ts";
/**
 * The parts of undici that every program needs, imported by file. undici's index also loads fetch, caches, cookies, WebSockets,
 * proxies and mocks, which would take memory in the agent on every node. The version is pinned, and the tests of the clients in
 * ../kube and ../telemetry cover these imports.
 */
export { Agent, buildConnector, Pool };
export type PoolOptions = WholePool.Options;

/** Sends one request over a pool or an agent. Resolves with the headers; the caller reads the body. */
export async function send(
  over: Pick<Dispatcher, "dispatch">,
  options: Dispatcher.RequestOptions,
): Promise<Dispatcher.ResponseData> {
  return request.call(over, options);
}

/** The text of a body; undefined if it is larger than `maxBytes`. */
export async function boundedText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Headers with one text each. Of a repeated header that is the first: a token or an address joined with its repetition is none. */
export function headerTexts(headers: Dispatcher.ResponseData["headers"]): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) texts[name] = first;
  }
  return texts;
}

/** Undefined if the text is not JSON. Drops the parser's error, which quotes the text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
