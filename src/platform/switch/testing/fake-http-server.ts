// An HTTP server on the loopback interface whose handler may be as broken as a BMC, for tests.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface FakeAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  /** Sent as it is. */
  readonly text?: string;
}

/** Returns the answer, or undefined to send none. */
export type FakeHandler = (request: FakeRequest) => FakeAnswer | undefined;

export class FakeHttpServer {
  readonly received: FakeRequest[] = [];
  handler: FakeHandler;
  readonly #server;
  readonly #sockets = new Set<Socket>();
  readonly #scheme: string;

  constructor(handler: FakeHandler, tls?: { readonly cert: string; readonly key: string }) {
    this.handler = handler;
    this.#scheme = tls === undefined ? "http" : "https";
    const listener = (request: IncomingMessage, response: ServerResponse) => void this.#answer(request, response);
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
    });
  }

  /** Returns the URL of the server. */
  async listen(host = "127.0.0.1"): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen({ port: 0, host }, resolve);
    });
    return `${this.#scheme}://${host}:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const received = { method: request.method ?? "", path: request.url ?? "", headers: request.headers, body };
    this.received.push(received);
    const answer = this.handler(received);
    if (answer === undefined) return;
    response.writeHead(answer.status ?? 200, answer.headers);
    response.end(answer.text ?? JSON.stringify(answer.json ?? {}));
  }
}
