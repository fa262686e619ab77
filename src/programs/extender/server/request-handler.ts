import type { IncomingMessage, ServerResponse } from "node:http";
import { elapsed } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import { type DebugAccess, type StreamedPage, sendReply } from "../../../platform/serve/index.ts";
import type { ExtenderReply } from "../decisions/decider.ts";
import type { ExtenderMetrics, Verb } from "../extender-metrics.ts";
import { RequestError } from "../wire/index.ts";
import { type Body, bodyTooLarge, ClientGoneError, contentLengthOf, HttpError, readBody } from "./body.ts";
import type { BodyBuffers } from "./body-buffers.ts";
import { type MemoryBudget, MemoryBudgetError } from "./memory-budget.ts";

export interface ExtenderRequestHandlerOptions {
  readonly maxBodyBytes: number;
  readonly budget: MemoryBudget;
  readonly buffers: BodyBuffers;
  readonly decide: (verb: Verb, body: Buffer) => ExtenderReply;
  readonly unreadyReason: () => string | undefined;
  readonly pages: Readonly<Record<string, StreamedPage>>;
  readonly debugAccess: DebugAccess;
  readonly metrics: ExtenderMetrics;
  readonly log: Logger;
  /** Real time. */
  readonly clock: Clock;
}

const verbs: ReadonlyMap<string, Verb> = new Map([
  ["/filter", "filter"],
  ["/prioritize", "prioritize"],
]);

export class ExtenderRequestHandler {
  readonly #options: ExtenderRequestHandlerOptions;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #isProven: boolean;
  #closed = false;

  constructor(
    options: ExtenderRequestHandlerOptions,
    request: IncomingMessage,
    response: ServerResponse,
    isProven: boolean,
  ) {
    this.#options = options;
    this.#request = request;
    this.#response = response;
    this.#isProven = isProven;
    response.once("close", () => {
      this.#closed = true;
    });
  }

  async run(): Promise<void> {
    const { url = "", method = "" } = this.#request;
    const query = url.indexOf("?");
    const path = query < 0 ? url : url.slice(0, query);
    try {
      const verb = verbs.get(path);
      if (verb !== undefined) await this.#decide(verb, method);
      else await this.#servePage(path, method, query < 0 ? "" : url.slice(query));
    } catch (error) {
      await this.#sendError(error);
    }
  }

  async #decide(verb: Verb, method: string): Promise<void> {
    const { clock, metrics, maxBodyBytes, budget, buffers, unreadyReason } = this.#options;
    const started = clock.monotonic();
    if (method !== "POST") throw new HttpError(405, `/${verb} requires POST`, { allow: "POST" });
    const length = contentLengthOf(this.#request);
    if (length !== undefined && length > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
    const reason = unreadyReason();
    if (reason !== undefined) throw new HttpError(503, reason, { "retry-after": "1" });
    const preempted = new AbortController();
    const abort = (cause: MemoryBudgetError) => {
      preempted.abort(cause);
      // Only a complete body has an answer, which the client has not read yet.
      if (this.#response.headersSent) this.#response.destroy();
    };
    const lease = budget.open({ bytes: length ?? 0, isProven: this.#isProven, abort });
    let body: Body | undefined;
    try {
      body = await readBody(this.#request, { length, limit: maxBodyBytes, buffers, lease, signal: preempted.signal });
      const { workloadClass, chunks } = this.#options.decide(verb, body.bytes);
      const answer = coalesceBuffers(chunks);
      lease.reserve(ownBytes(answer, body.buffer));
      metrics.recordAnswer(verb, workloadClass, elapsed(started, clock.monotonic()));
      this.#sendBuffers(answer);
    } finally {
      // Parts of the answer are slices of the request, so its memory is released when the answer is sent.
      this.#onceClosed(() => {
        lease.release();
        if (body !== undefined) buffers.give(body.buffer);
      });
    }
  }

  #onceClosed(then: () => void): void {
    if (this.#closed) then();
    else this.#response.once("close", then);
  }

  #sendBuffers(buffers: readonly Buffer[]): void {
    const response = this.#response;
    const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
    response.writeHead(200, { "content-type": "application/json", "content-length": length });
    for (const buffer of buffers) response.write(buffer);
    response.end();
  }

  async #servePage(path: string, method: string, query: string): Promise<void> {
    const { pages, debugAccess } = this.#options;
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) {
      const known = [...verbs.keys(), ...Object.keys(pages)].toSorted().join(", ");
      throw new HttpError(404, `page not found; the pages are ${known}`);
    }
    if (method !== "GET" && method !== "HEAD") {
      throw new HttpError(405, `${path} is read-only: use GET`, { allow: "GET, HEAD" });
    }
    const refusal = path.startsWith("/debug/") ? await debugAccess.refusal(this.#request, path) : undefined;
    if (refusal !== undefined) throw new HttpError(refusal.status, refusal.message, refusal.headers);
    const reply = page(new URLSearchParams(query));
    if (reply === undefined) throw new HttpError(404, "not found: the extender does not know this object");
    await sendReply(reply, this.#response, method === "GET");
  }

  async #sendError(error: unknown): Promise<void> {
    const response = this.#response;
    if (response.destroyed || error instanceof ClientGoneError) return;
    const { log, metrics } = this.#options;
    const { status, message, headers } = httpErrorOf(error);
    metrics.countRejection(status);
    if (status === 500) log.error({ err: error }, "request failed");
    if (response.headersSent) throw error;
    // Node discards the rest of the body: a client whose connection is reset while sending never reads the error.
    await sendReply(
      { status, type: "application/json", body: `${JSON.stringify({ error: message })}\n`, headers },
      response,
      this.#request.method !== "HEAD",
    );
  }
}

/** Bytes of the answer that are not slices of the request. */
const ownBytes = (answer: readonly Buffer[], body: Buffer): number =>
  answer.reduce((sum, part) => sum + (part.buffer === body.buffer ? 0 : part.length), 0);

function httpErrorOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof RequestError) return new HttpError(error.status, error.message);
  if (error instanceof MemoryBudgetError)
    return new HttpError(503, `out of memory for requests: ${error.message}`, { "retry-after": "1" });
  return new HttpError(500, "internal error; see the log of the extender");
}

/** Below this size copying is cheaper than one more buffer in a vectored write. */
const SMALL = 4096;
const BLOCK = 262_144;

/** Joins adjacent small buffers: thousands of small slices would take longer to send than to compute. */
export function coalesceBuffers(buffers: readonly Buffer[]): Buffer[] {
  const joined: Buffer[] = [];
  let run: Buffer[] = [];
  let length = 0;
  const flush = (): void => {
    const [only] = run;
    if (only !== undefined) joined.push(run.length === 1 ? only : Buffer.concat(run, length));
    run = [];
    length = 0;
  };
  for (const buffer of buffers) {
    if (buffer.length === 0) continue;
    if (buffer.length >= SMALL) {
      flush();
      joined.push(buffer);
      continue;
    }
    if (length + buffer.length > BLOCK) flush();
    run.push(buffer);
    length += buffer.length;
  }
  flush();
  return joined;
}
