import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { ApiRequest, ApiResponse } from "../../kube/index.ts";
import { type KeyPair, selfSigned } from "./certificate.ts";
import { jsonFromProtobuf, PROTOBUF } from "./protobuf.ts";
import { errorReply } from "./reply.ts";
import { MAX_BODY_BYTES } from "./request.ts";
import { StatusError, tooLarge, unauthorized } from "./status.ts";

export interface ListenOptions {
  /** A loopback address; 127.0.0.1 where left out. */
  readonly host?: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** TLS with a certificate made at the start, or with the given one. kubectl sends its token only over TLS. */
  readonly tls?: "self-signed" | KeyPair;
}

export interface ListeningServer {
  readonly url: string;
  readonly token: string;
  /** The certificate to trust, in PEM. */
  readonly ca: string | undefined;
  /** A kubeconfig that leads here, as text. It holds the token: keep it private. */
  kubeconfig(): string;
  close(): Promise<void>;
}

type Answer = (request: ApiRequest) => Promise<ApiResponse>;

const LOOPBACK = /^(localhost|::1|127(\.\d{1,3}){3})$/;
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

export async function listen(answer: Answer, token: string, options: ListenOptions = {}): Promise<ListeningServer> {
  const host = options.host ?? "127.0.0.1";
  if (!LOOPBACK.test(host)) {
    throw new RangeError(
      `the embedded API listens on loopback addresses only, not on ${host}: it is no cluster; use 127.0.0.1 or ::1`,
    );
  }
  const pair = options.tls === "self-signed" ? selfSigned() : options.tls;
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    serveOne(answer, token, request, response).catch(() => response.destroy());
  };
  const server = pair === undefined ? createServer(serve) : createTlsServer(pair, serve);
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, host === "localhost" ? "127.0.0.1" : host, resolve);
  });
  const { port, address } = server.address() as AddressInfo;
  const url = `${pair === undefined ? "http" : "https"}://${address.includes(":") ? `[${address}]` : address}:${port}`;
  return {
    url,
    token,
    ca: pair?.cert,
    kubeconfig: () => kubeconfigOf(url, token, pair?.cert),
    close: async () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** JSON, which is YAML too. */
function kubeconfigOf(server: string, token: string, ca: string | undefined): string {
  const name = "joulie-embedded";
  const trust = ca === undefined ? {} : { "certificate-authority-data": Buffer.from(ca).toString("base64") };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    clusters: [{ name, cluster: { server, ...trust } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

function isAllowed({ headers }: IncomingMessage, token: string): boolean {
  const given = Buffer.from(headers.authorization ?? "");
  const expected = Buffer.from(`Bearer ${token}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

async function serveOne(
  answer: Answer,
  token: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const abort = new AbortController();
  response.on("close", () => abort.abort(new Error("the client closed the connection")));
  const isWatch = /[?&]watch=/.test(request.url ?? "");
  const send = async ({ status, headers, body }: ApiResponse) => {
    response.writeHead(status, headers);
    // A watch's client waits for the headers, and the first event may be long in coming; other answers go in one piece.
    if (isWatch) response.flushHeaders();
    for await (const chunk of body) {
      if (!response.write(chunk)) await drained(response, abort.signal);
    }
    response.end();
  };
  try {
    if (!isAllowed(request, token)) throw unauthorized();
    const method = methods.find((one) => one === request.method);
    if (method === undefined) throw new StatusError(405, "MethodNotAllowed", `there is no ${request.method} here`);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const bytes = await bodyOf(request);
    const isProtobuf = headers["content-type"]?.split(";")[0]?.trim() === PROTOBUF;
    const body = isProtobuf ? jsonFromProtobuf(bytes) : bytes.toString();
    if (isProtobuf) headers["content-type"] = "application/json";
    await send(await answer({ method, path: request.url ?? "/", headers, body, signal: abort.signal }));
  } catch (error) {
    if (error instanceof StatusError && !response.headersSent) await send(errorReply(error));
    else response.destroy();
  }
}

/** Waits until more can be written; rejects once the connection is gone. */
export async function drained(response: Pick<ServerResponse, "once" | "off">, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = () => reject(signal.reason as Error);
  response.once("drain", resolve);
  signal.addEventListener("abort", stop, { once: true });
  try {
    await promise;
  } finally {
    // A long answer drains thousands of times on one signal: each wait takes its listeners with it.
    response.off("drain", resolve);
    signal.removeEventListener("abort", stop);
  }
}
