import type { ConnectionOptions } from "node:tls";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Clock, systemClock, withDeadline } from "../../clock/index.ts";
import { buildConnector, headerTexts, Pool, type PoolOptions, send } from "../../http/index.ts";
import type { Identity, TlsMaterial } from "../auth/identity.ts";
import { CallSlots } from "./call-slots.ts";
import type { ApiRequest, ApiResponse, Transport } from "./transport.ts";

export interface HttpTransportOptions {
  readonly identity: Identity;
  /** Maximum connections for calls. Further calls wait. */
  readonly connections?: number;
  /** Connections for watches: one each. */
  readonly watchConnections?: number;
  /** Timeout for loading the certificates, and again for connecting. */
  readonly connectTimeout?: Milliseconds;
  readonly clock?: Clock;
}

/** Shorter than kube-apiserver's idle timeout of three minutes. */
const KEEP_ALIVE = 60_000;
/** Detects a dead peer during a quiet watch. */
const TCP_KEEP_ALIVE = 15_000;

/**
 * Sends calls over pooled HTTP/1.1 connections. Watches have their own pool: each holds a connection for minutes,
 * and in a shared pool they could starve the calls. Responses have no timeout here, since a quiet watch is
 * healthy; the client sets timeouts. HTTP/2 would put all watches on one connection with one flow-control window.
 */
export class HttpTransport implements Transport {
  readonly #identity: Identity;
  readonly #calls: Pool;
  readonly #watches: Pool;
  readonly #callSlots: CallSlots;
  readonly #watchSlots: CallSlots;
  readonly #prefix: string;

  constructor(options: HttpTransportOptions) {
    const { identity, connections = 16, watchConnections = 32, clock = systemClock } = options;
    const { connectTimeout = milliseconds(10_000) } = options;
    this.#identity = identity;
    const server = new URL(identity.server);
    // Some API servers have a path prefix, such as Rancher's.
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
    this.#callSlots = new CallSlots(connections);
    this.#watchSlots = new CallSlots(watchConnections);
  }

  async request({ method, path, headers, body, signal, longLived }: ApiRequest): Promise<ApiResponse> {
    const credentials = await this.#identity.headers();
    signal.throwIfAborted();
    const [pool, slots] = longLived === true ? [this.#watches, this.#watchSlots] : [this.#calls, this.#callSlots];
    const free = await slots.take(signal);
    try {
      const answer = await send(pool, {
        method,
        path: this.#prefix + path,
        headers: { ...headers, ...credentials },
        body: body ?? null,
        signal,
      });
      // The connection is busy until the body was read or abandoned.
      answer.body.once("close", free);
      if (answer.statusCode === 401) this.#identity.refused();
      return { status: answer.statusCode, headers: headerTexts(answer.headers), body: answer.body };
    } catch (error) {
      free();
      throw error;
    }
  }

  /** Aborts all requests in flight. */
  async close(): Promise<void> {
    await Promise.all([this.#calls.destroy(), this.#watches.destroy()]);
  }
}

/** Each new connection uses the current certificates, because certificate files rotate. */
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
      // A hanging credential source would block the pool slot forever.
      material = await withDeadline(clock, connectTimeout, "certificates", identity.tls());
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)), null);
      return;
    }
    // tls-server-name takes precedence over the name that undici takes from the Host header.
    connectorFor(material)(withServerName(options, material), callback);
  };
  return (options, callback) => void connect(options, callback);
}

const withServerName = (options: buildConnector.Options, { serverName }: TlsMaterial): buildConnector.Options =>
  serverName === undefined ? options : { ...options, servername: serverName };
