import type { ConnectionOptions } from "node:tls";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Clock, systemClock } from "../../clock/index.ts";
import { buildConnector, type Dispatcher, Pool, type PoolOptions, send } from "../../http/index.ts";
import type { Identity, TlsMaterial } from "../auth/identity.ts";
import type { ApiRequest, ApiResponse, Transport } from "./transport.ts";
import { withDeadline } from "./with-deadline.ts";

export interface HttpTransportOptions {
  readonly identity: Identity;
  /** Connections for calls. Beyond it calls wait for one another. */
  readonly connections?: number;
  /** Connections for watches: one each. */
  readonly watchConnections?: number;
  /** The longest the identity's certificates, and after them a connection, may take. */
  readonly connectTimeout?: Milliseconds;
  readonly clock?: Clock;
}

/** Before the server's own idle limit ends them: kube-apiserver keeps idle connections for three minutes. */
const KEEP_ALIVE = 60_000;
/** Finds a dead peer below a quiet watch even while the program itself has nothing to ask. */
const TCP_KEEP_ALIVE = 15_000;

/**
 * Calls over HTTP/1.1 connections that are kept. Watches have a pool of their own: each holds a connection for minutes,
 * and in one pool a few of them would leave none for the calls. Answers have no time limit here, since a quiet watch is
 * healthy; the client times its calls. HTTP/2 would put all watches behind one window and one dead connection.
 */
export class HttpTransport implements Transport {
  readonly #identity: Identity;
  readonly #calls: Pool;
  readonly #watches: Pool;
  readonly #prefix: string;

  constructor(options: HttpTransportOptions) {
    const { identity, connections = 16, watchConnections = 32, clock = systemClock } = options;
    const { connectTimeout = milliseconds(10_000) } = options;
    this.#identity = identity;
    const server = new URL(identity.server);
    // Some servers stand behind a path, such as Rancher's.
    this.#prefix = server.pathname.replace(/\/+$/, "");
    const shared: PoolOptions = {
      connect: currentConnector(identity, connectTimeout, clock),
      pipelining: 1,
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE,
    };
    this.#calls = new Pool(server.origin, { ...shared, connections });
    this.#watches = new Pool(server.origin, { ...shared, connections: watchConnections });
  }

  async request({ method, path, headers, body, signal, longLived }: ApiRequest): Promise<ApiResponse> {
    const credentials = await this.#identity.headers();
    signal.throwIfAborted();
    const pool = longLived === true ? this.#watches : this.#calls;
    const answer = await send(pool, {
      method,
      path: this.#prefix + path,
      headers: { ...headers, ...credentials },
      body: body ?? null,
      signal,
    });
    if (answer.statusCode === 401) this.#identity.refused();
    return { status: answer.statusCode, headers: single(answer.headers), body: answer.body };
  }

  /** Ends everything that is under way. */
  async close(): Promise<void> {
    await Promise.all([this.#calls.destroy(), this.#watches.destroy()]);
  }
}

/** Each new connection uses the certificates of its time: those in files are renewed while we run. */
function currentConnector(identity: Identity, connectTimeout: Milliseconds, clock: Clock): buildConnector.connector {
  let built: { material: TlsMaterial; connect: buildConnector.connector } | undefined;
  const connectorFor = (material: TlsMaterial): buildConnector.connector => {
    if (built?.material !== material) {
      const { serverName, insecure, ...certificates } = material;
      const tls: Partial<ConnectionOptions> = {
        ...certificates,
        ...(serverName !== undefined && { servername: serverName }),
        ...(insecure === true && { rejectUnauthorized: false }),
      };
      const options = { timeout: connectTimeout, keepAliveInitialDelay: TCP_KEEP_ALIVE, allowH2: false };
      built = { material, connect: buildConnector({ ...tls, ...options } as buildConnector.BuildOptions) };
    }
    return built.connect;
  };
  const connect = async (options: buildConnector.Options, callback: buildConnector.Callback): Promise<void> => {
    let material: TlsMaterial;
    try {
      // One that hangs would keep the connection's place in the pool for good.
      material = await withDeadline(connectTimeout, clock, "certificates", identity.tls());
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)), null);
      return;
    }
    // A name a person gave for the certificate wins over the one undici takes from the Host header.
    connectorFor(material)(withServerName(options, material), callback);
  };
  return (options, callback) => void connect(options, callback);
}

const withServerName = (options: buildConnector.Options, { serverName }: TlsMaterial): buildConnector.Options =>
  serverName === undefined ? options : { ...options, servername: serverName };

function single(headers: Dispatcher.ResponseData["headers"]): Readonly<Record<string, string>> {
  const result: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) result[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return result;
}
