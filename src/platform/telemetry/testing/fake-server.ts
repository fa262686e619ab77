// An HTTP server on the loopback interface, for tests.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Returns the response, or undefined to send none. */
export type Handler = (request: ReceivedRequest) => FakeReply | undefined;
export interface FakeReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string;
}

export class FakeServer {
  readonly received: ReceivedRequest[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server;
  handler: Handler;
  connections = 0;

  constructor(handler: Handler, tls?: { readonly cert: string; readonly key: string }) {
    this.handler = handler;
    const listener = (request: IncomingMessage, response: ServerResponse) => void this.#answer(request, response);
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    this.#server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => {
      this.#server.listen({ port: 0, host: "127.0.0.1", backlog: 1024 }, resolve);
    });
    return (this.#server.address() as AddressInfo).port;
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
    const reply = this.handler(received);
    if (reply === undefined) return;
    response.writeHead(reply.status ?? 200, reply.headers);
    response.end(reply.text ?? JSON.stringify(reply.json));
  }
}

type Labels = Readonly<Record<string, string>>;

/** A Prometheus response with samples `[labels, value, seconds]`. */
export const vector = (at: number, ...samples: readonly (readonly [Labels, string, number?])[]): FakeReply => ({
  json: {
    status: "success",
    data: {
      resultType: "vector",
      result: samples.map(([metric, value, sampledAt]) => ({ metric, value: [sampledAt ?? at, value] })),
    },
  },
});

/** The PromQL query in a request. */
export const queryOf = ({ body }: ReceivedRequest): string => new URLSearchParams(body).get("query") ?? "";
