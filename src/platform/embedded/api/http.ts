import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import type { Clock } from "../../clock/index.ts";
import type { ApiRequest, ApiResponse } from "../../kube/index.ts";
import { selfSigned } from "./certificate.ts";
import { jsonFromProtobuf, PROTOBUF } from "./protobuf.ts";
import { errorReply } from "./reply.ts";
import { MAX_BODY_BYTES } from "./request.ts";
import { StatusError, tooLarge, unauthorized } from "./status.ts";

export interface ListenOptions {
  /** Serves TLS with a generated certificate. kubectl sends its token only over TLS. */
  readonly tls?: "self-signed";
}

export interface ListeningServer {
  readonly url: string;
  readonly token: string;
  /** The CA certificate for clients, in PEM. */
  readonly ca: string | undefined;
  /** A kubeconfig for this server, as text. It contains the bearer token: treat it as a secret. */
  kubeconfig(): string;
  close(): Promise<void>;
}

/** What listeners share. */
export interface ServedApi {
  readonly answer: (request: ApiRequest) => Promise<ApiResponse>;
  readonly token: string;
  /** Clients learn the server's time from the header Date. */
  readonly clock: Pick<Clock, "now">;
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** Listens on a free port of 127.0.0.1. */
export async function serveApi(api: ServedApi, options: ListenOptions = {}): Promise<ListeningServer> {
  const { token } = api;
  const pair = options.tls === undefined ? undefined : selfSigned();
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    serveOne(api, request, response).catch(() => response.destroy());
  };
  const server = pair === undefined ? createServer(serve) : createTlsServer(pair, serve);
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const url = `${pair === undefined ? "http" : "https"}://127.0.0.1:${port}`;
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

/** Written as JSON, which is valid YAML. */
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
  { answer, token, clock }: ServedApi,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const abort = new AbortController();
  response.on("close", () => abort.abort(new Error("the client closed the connection")));
  const isWatch = /[?&]watch=/.test(request.url ?? "");
  const send = async ({ status, headers, body }: ApiResponse) => {
    response.setHeader("date", new Date(clock.now()).toUTCString());
    response.writeHead(status, headers);
    // A watch client waits for the headers, and the first event may come much later. Other responses send headers and body together.
    if (isWatch) response.flushHeaders();
    await pipeline(body, response);
  };
  try {
    if (!isAllowed(request, token)) throw unauthorized();
    const method = methods.find((one) => one === request.method);
    if (method === undefined)
      throw new StatusError(405, "MethodNotAllowed", `method ${request.method} is not supported`);
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
