import type { Dispatcher, Pool as WholePool } from "undici";
import request from "undici/lib/api/api-request.js";
import buildConnector from "undici/lib/core/connect.js";
import Agent from "undici/lib/dispatcher/agent.js";
import Pool from "undici/lib/dispatcher/pool.js";

export { isLoopbackHost, sendsInTheClear } from "./loopback.ts";

// undici is imported file by file. Its index also loads fetch, caches, cookies, WebSockets, proxies and mocks, which would take
// memory in the agent on every node. The version is pinned, and the tests of the clients in ../kube and ../telemetry cover it.
export { Agent, buildConnector, Pool };
export type PoolOptions = WholePool.Options;

/** Sends one request over a pool or an agent. Resolves with the headers; the caller reads the body. */
export async function send(
  dispatcher: Pick<Dispatcher, "dispatch">,
  options: Dispatcher.RequestOptions,
): Promise<Dispatcher.ResponseData> {
  return request.call(dispatcher, options);
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

/** The value of each header. A repeated header counts with its first value, because two tokens joined are no token. */
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
