import type { IncomingMessage, ServerResponse } from "node:http";
import { elapsed } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import { type DebugAccess, type Reply, send } from "../../../platform/serve/index.ts";
import type { ExtenderReply } from "../decisions/decider.ts";
import type { ExtenderMetrics, Verb } from "../extender-metrics.ts";
import { RequestError } from "../wire/index.ts";
import { type Body, bodyTooLarge, ClientGoneError, contentLengthOf, readBody } from "./body.ts";
import type { BodyBuffers } from "./body-buffers.ts";
import { coalesceBuffers } from "./coalesce-buffers.ts";
import { HttpError } from "./http-error.ts";
import { type LeaseRequest, type MemoryBudget, MemoryBudgetError, type MemoryLease } from "./memory-budget.ts";
import type { StalledRequests } from "./stalled-requests.ts";

export interface ExtenderRequestHandlerOptions {
  readonly maxBodyBytes: number;
  readonly budget: MemoryBudget;
  readonly buffers: BodyBuffers;
  readonly stalled: StalledRequests;
  readonly decide: (verb: Verb, body: Buffer) => ExtenderReply | Promise<ExtenderReply>;
  /** Why there can be no decision yet; undefined once there can. */
  readonly unreadyReason: () => string | undefined;
  /** What can be read, by path; undefined: nothing is known about what the query asks for. */
  readonly pages: Readonly<Record<string, (query: URLSearchParams) => Reply | undefined>>;
  /** Who may read those under /debug/. */
  readonly debugAccess: DebugAccess;
  readonly metrics: ExtenderMetrics;
  readonly log: Logger;
  /** Real time: clients do not wait for virtual one. */
  readonly clock: Clock;
}

const verbs: ReadonlyMap<string, Verb> = new Map([
  ["/filter", "filter"],
  ["/prioritize", "prioritize"],
]);

/** One request and its answer. */
export class ExtenderRequestHandler {
  readonly #options: ExtenderRequestHandlerOptions;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #isProven: boolean;
  #closed = false;

  /** `isProven`: the connection completed requests before. */
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
      else await this.#tell(path, method, query < 0 ? "" : url.slice(query));
    } catch (error) {
      await this.#refuse(error);
    }
  }

  async #decide(verb: Verb, method: string): Promise<void> {
    const { clock, metrics: figures, maxBodyBytes, budget, buffers, stalled, unreadyReason: unready } = this.#options;
    const started = clock.monotonic();
    if (method !== "POST") throw new HttpError(405, `/${verb} is asked with POST`, { allow: "POST" });
    const length = contentLengthOf(this.#request);
    if (length !== undefined && length > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
    const reason = unready();
    if (reason !== undefined) throw new HttpError(503, reason, { "retry-after": "1" });
    const entrant = { bytes: length ?? 0, isProven: this.#isProven };
    const room = budget.tryAcquire(entrant) ?? (await this.#enter(entrant));
    let body: Body | undefined;
    try {
      body = await readBody(this.#request, { length, limit: maxBodyBytes, buffers, room, stalled });
      const { workloadClass, chunks: reply } = await this.#options.decide(verb, body.bytes);
      const pieces = coalesceBuffers(reply);
      room.reserveAnswer(made(pieces, body.buffer));
      figures.recordAnswer(verb, workloadClass, elapsed(started, clock.monotonic()));
      this.#sendPieces(pieces);
      stalled.watchAnswer(this.#response);
    } finally {
      // Parts of the answer are slices of the request, so its memory is free once the answer has gone out.
      this.#onceClosed(() => {
        room.release();
        stalled.forgetAnswer(this.#response);
        if (body !== undefined) buffers.give(body.buffer);
      });
    }
  }

  async #enter(entrant: LeaseRequest): Promise<MemoryLease> {
    const gone = new AbortController();
    const leave = () => gone.abort(new ClientGoneError("the client left before there was room for its request"));
    this.#response.once("close", leave);
    try {
      return await this.#options.budget.acquire(entrant, gone.signal);
    } finally {
      this.#response.off("close", leave);
    }
  }

  #onceClosed(then: () => void): void {
    if (this.#closed) then();
    else this.#response.once("close", then);
  }

  #sendPieces(pieces: readonly Buffer[]): void {
    const response = this.#response;
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    response.writeHead(200, { "content-type": "application/json", "content-length": length });
    for (const piece of pieces) response.write(piece);
    response.end();
  }

  async #tell(path: string, method: string, query: string): Promise<void> {
    const { pages, debugAccess } = this.#options;
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) {
      const known = [...verbs.keys(), ...Object.keys(pages)].toSorted().join(", ");
      throw new HttpError(404, `there is no such page here; there are ${known}`);
    }
    if (method !== "GET" && method !== "HEAD") {
      throw new HttpError(405, `${path} can only be read: use GET`, { allow: "GET, HEAD" });
    }
    const refusal = path.startsWith("/debug/") ? await debugAccess.refusal(this.#request, path) : undefined;
    if (refusal !== undefined) throw new HttpError(refusal.status, refusal.message, refusal.headers);
    const reply = page(new URLSearchParams(query));
    if (reply === undefined) throw new HttpError(404, "nothing is known about that");
    await send(reply, this.#response, method === "GET");
  }

  async #refuse(error: unknown): Promise<void> {
    const response = this.#response;
    if (response.destroyed || error instanceof ClientGoneError) return;
    const { log, metrics: figures } = this.#options;
    const { status, message, headers } = refusalOf(error);
    figures.countRejection(status);
    if (status === 500) log.error({ err: error }, "a request failed");
    if (response.headersSent) throw error;
    // The rest of the body is let go by, within the time a request has: who is cut off while sending never reads why.
    await send(
      { status, type: "application/json", body: `${JSON.stringify({ error: message })}\n`, headers },
      response,
      this.#request.method !== "HEAD",
    );
  }
}

/** How many bytes of an answer are its own, and no slices of the request. */
const made = (pieces: readonly Buffer[], body: Buffer): number =>
  pieces.reduce((sum, piece) => sum + (piece.buffer === body.buffer ? 0 : piece.length), 0);

function refusalOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof RequestError) {
    return new HttpError(error.status, error.message, error.status === 503 ? { "retry-after": "1" } : {});
  }
  if (error instanceof MemoryBudgetError)
    return new HttpError(503, `too much at once: ${error.message}`, { "retry-after": "1" });
  return new HttpError(500, "the request failed; the program's log says why");
}
