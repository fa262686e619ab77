import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { elapsed, type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { Address } from "../../platform/config/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { listen, type Reply, send } from "../../platform/serve/index.ts";
import { type Body, lengthOf, readBody, tooLarge } from "./body.ts";
import type { BodyBuffers } from "./body-buffers.ts";
import { type ByteBudget, NoRoomError } from "./budget.ts";
import type { Decided } from "./decide.ts";
import type { Figures, Verb } from "./figures.ts";
import { Refusal } from "./refusal.ts";
import { followTls, readTls, type TlsFiles } from "./tls.ts";
import { WireError } from "./wire/index.ts";

export interface SchedulerServerOptions {
  readonly address: Address;
  readonly tls?: TlsFiles | undefined;
  readonly maxBodyBytes: number;
  readonly budget: ByteBudget;
  readonly buffers: BodyBuffers;
  readonly decide: (verb: Verb, body: Buffer) => Promise<Decided>;
  /** Why there can be no decision yet; undefined once there can. */
  readonly unready: () => string | undefined;
  /** What can be read, by path; undefined: nothing is known about what the query asks for. */
  readonly pages: Readonly<Record<string, (query: URLSearchParams) => Reply | undefined>>;
  readonly figures: Figures;
  readonly log: Logger;
  /** Real time: clients do not wait for virtual one. */
  readonly clock: Clock;
  readonly limits?: Partial<SchedulerServerLimits>;
}

/** What one client can take from the others. */
export interface SchedulerServerLimits {
  /** From the first byte of a request to its last; kube-scheduler itself gives up after 5 s by default. */
  readonly request: Milliseconds;
  /** From the request to the last byte that the client has taken. */
  readonly response: Milliseconds;
  /** Longer than Go's clients keep a connection they do not use (90 s), so that none asks just when we hang up. */
  readonly idle: Milliseconds;
  readonly connections: number;
  /** How long `close` waits for answers under way. */
  readonly close: Milliseconds;
}

const usualLimits: SchedulerServerLimits = {
  request: milliseconds(10_000),
  response: milliseconds(30_000),
  idle: milliseconds(120_000),
  connections: 128,
  close: milliseconds(10_000),
};

export interface SchedulerServer {
  /** How to reach it from this machine. */
  readonly url: string;
  /** Takes no more connections, answers what is under way for as long as the limit says, and frees the port. */
  close(): Promise<void>;
}

const verbs: ReadonlyMap<string, Verb> = new Map([
  ["/filter", "filter"],
  ["/prioritize", "prioritize"],
]);

/** The server kube-scheduler asks. */
export async function serveScheduler(options: SchedulerServerOptions): Promise<SchedulerServer> {
  const { address, clock, log, tls } = options;
  const limits = { ...usualLimits, ...options.limits };
  let closing: Promise<void> | undefined;
  const listener: RequestListener = (request, response) => {
    const late = clock.after(limits.response, () => response.destroy(), { background: true });
    response.once("close", () => {
      late.cancel();
      if (closing !== undefined) request.socket.end();
    });
    new Exchange(options, request, response).run().catch((err: unknown) => {
      if (!response.destroyed) log.error({ err }, "an answer broke off");
      response.destroy();
    });
  };
  const material = tls && (await readTls(tls));
  const server = serverOf(material && { ...material, mutual: tls.clientCa !== undefined }, limits, listener);
  server.maxConnections = limits.connections;
  // The next one to knock finds room.
  server.on("drop", () => server.closeIdleConnections());
  await listen(server, address, "EXTENDER_ADDR");
  server.on("error", (err) => log.error({ err }, "the server for kube-scheduler has a problem"));
  const renewal =
    material &&
    followTls({
      files: tls,
      first: material,
      renew: (next) => (server as TlsServer).setSecureContext(next),
      clock,
      log,
    });
  return {
    url: urlOf(tls === undefined ? "http" : "https", server.address() as AddressInfo),
    close: async () => {
      renewal?.stop();
      return (closing ??= drained(server, limits.close, clock, log));
    },
  };
}

function serverOf(
  tls: { readonly mutual: boolean } | undefined,
  limits: SchedulerServerLimits,
  listener: RequestListener,
): Server | TlsServer {
  const http = {
    headersTimeout: limits.request,
    requestTimeout: limits.request,
    keepAliveTimeout: limits.idle,
    connectionsCheckingInterval: limits.request / 4,
    maxHeaderSize: 16_384,
    noDelay: true,
  };
  if (tls === undefined) return createServer(http, listener);
  const { mutual, ...material } = tls;
  return createTlsServer(
    { ...http, ...material, requestCert: mutual, rejectUnauthorized: mutual, handshakeTimeout: limits.request },
    listener,
  );
}

/** One request and its answer. */
class Exchange {
  readonly #options: SchedulerServerOptions;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #closed = false;

  constructor(options: SchedulerServerOptions, request: IncomingMessage, response: ServerResponse) {
    this.#options = options;
    this.#request = request;
    this.#response = response;
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
    const { clock, figures, maxBodyBytes, budget, buffers, unready } = this.#options;
    const started = clock.monotonic();
    if (method !== "POST") throw new Refusal(405, `/${verb} is asked with POST`, { allow: "POST" });
    const length = lengthOf(this.#request);
    if (length !== undefined && length > maxBodyBytes) throw tooLarge(maxBodyBytes);
    const reason = unready();
    if (reason !== undefined) throw new Refusal(503, reason, { "retry-after": "1" });
    const room = length ?? maxBodyBytes;
    await this.#waitForRoom(room);
    let body: Body | undefined;
    try {
      body = await readBody(this.#request, length, maxBodyBytes, buffers);
      const { workloadClass, reply } = await this.#options.decide(verb, body.bytes);
      figures.answered(verb, workloadClass, elapsed(started, clock.monotonic()));
      this.#sendPieces(reply);
    } finally {
      // Parts of the answer are slices of the request, so its memory is free once the answer has gone out.
      this.#onceClosed(() => {
        budget.give(room);
        if (body !== undefined) buffers.give(body.buffer);
      });
    }
  }

  async #waitForRoom(bytes: number): Promise<void> {
    const { budget } = this.#options;
    const gone = new AbortController();
    const leave = () => gone.abort(new Error("the client left before there was room for its request"));
    this.#response.once("close", leave);
    await budget.take(bytes, gone.signal);
    this.#response.off("close", leave);
  }

  #onceClosed(then: () => void): void {
    if (this.#closed) then();
    else this.#response.once("close", then);
  }

  #sendPieces(pieces: readonly Buffer[]): void {
    const response = this.#response;
    let length = 0;
    for (const piece of pieces) length += piece.length;
    response.writeHead(200, { "content-type": "application/json", "content-length": length });
    const last = pieces.length - 1;
    for (let i = 0; i < last; i++) response.write(pieces[i]);
    response.end(pieces[last]);
  }

  async #tell(path: string, method: string, query: string): Promise<void> {
    const { pages } = this.#options;
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) {
      const known = [...verbs.keys(), ...Object.keys(pages)].toSorted().join(", ");
      throw new Refusal(404, `there is no such page here; there are ${known}`);
    }
    if (method !== "GET" && method !== "HEAD") {
      throw new Refusal(405, `${path} can only be read: use GET`, { allow: "GET, HEAD" });
    }
    const reply = page(new URLSearchParams(query));
    if (reply === undefined) throw new Refusal(404, "nothing is known about that");
    await send(reply, this.#response, method === "GET");
  }

  async #refuse(error: unknown): Promise<void> {
    const response = this.#response;
    if (response.destroyed) return;
    const { log, figures } = this.#options;
    const { status, message, headers } = refusalOf(error);
    figures.refused(status);
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

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof WireError) {
    return new Refusal(error.status, error.message, error.status === 503 ? { "retry-after": "1" } : {});
  }
  if (error instanceof NoRoomError)
    return new Refusal(503, `too much at once: ${error.message}`, { "retry-after": "1" });
  return new Refusal(500, "the request failed; the program's log says why");
}

function urlOf(scheme: string, { address, port }: AddressInfo): string {
  if (address === "::" || address === "0.0.0.0") return `${scheme}://localhost:${port}`;
  return `${scheme}://${address.includes(":") ? `[${address}]` : address}:${port}`;
}

async function drained(server: Server | TlsServer, limit: Milliseconds, clock: Clock, log: Logger): Promise<void> {
  await new Promise<void>((resolve) => {
    const late = clock.after(limit, () => {
      log.warn("answers were still under way; their connections were closed");
      server.closeAllConnections();
    });
    // Connections that no request is under way on are closed with it.
    server.close(() => {
      late.cancel();
      resolve();
    });
  });
}
