import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";

/** The facts that decide which connections to close first. Times are from one monotonic clock, in ms. */
export interface ConnectionFacts {
  readonly openedAt: number;
  /** When the last request started or ended. */
  readonly usedAt: number;
  /** The connection has completed a request. */
  readonly isProven: boolean;
  /** The client has sent bytes of a TLS handshake or of a header. */
  readonly hasSent: boolean;
  /** The state of the current request: `receiving` until its body is complete. */
  readonly request: "none" | "receiving" | "answering";
}

/** The time for the first request before a connection counts as silent, and for the body of a request. */
const GRACE = 1000;

export interface EvictionOrder<Connection> {
  /** Silent connections, idle ones beyond the reserve, stalled requests, then connections without a complete request. */
  readonly expendable: Connection[];
  /** Idle connections within the reserve, then those whose request is being answered, newest first. */
  readonly reserved: Connection[];
}

/**
 * Sorts connections by which to close first. Connections that completed a request have their own reserve, so that opening many
 * sockets never disconnects a regular client.
 */
export function evictionOrder<Connection extends ConnectionFacts>(
  connections: Iterable<Connection>,
  now: number,
  reserve: number,
): EvictionOrder<Connection> {
  const ranks = Map.groupBy(connections, (connection) => rankOf(connection, now));
  const sorted = (rank: Rank, by: "openedAt" | "usedAt") =>
    (ranks.get(rank) ?? []).toSorted((one, other) => one[by] - other[by]);
  const idle = sorted("idle", "usedAt");
  const beyondReserve = Math.max(0, idle.length - reserve);
  return {
    expendable: [
      ...sorted("silent", "openedAt"),
      ...idle.slice(0, beyondReserve),
      ...sorted("stalled", "usedAt"),
      ...sorted("new", "openedAt"),
      ...sorted("greeting", "openedAt"),
      ...sorted("receiving", "usedAt"),
    ],
    reserved: [
      ...idle.slice(beyondReserve),
      ...sorted("answering", "openedAt").toReversed(),
      ...sorted("proven", "openedAt").toReversed(),
    ],
  };
}

/** `new` has sent nothing, `greeting` has started a header, `proven` has a request in progress and completed others before. */
type Rank = "silent" | "idle" | "stalled" | "new" | "greeting" | "receiving" | "answering" | "proven";

function rankOf({ openedAt, usedAt, isProven, hasSent, request }: ConnectionFacts, now: number): Rank {
  if (request === "receiving" && now - usedAt > GRACE) return "stalled";
  if (request !== "none") return isProven ? "proven" : request;
  if (isProven) return "idle";
  if (now - openedAt > GRACE) return "silent";
  return hasSent ? "greeting" : "new";
}

/** The share of connections reserved for clients that have completed a request. */
const RESERVED_SHARE = 1 / 4;
/** The maximum share of connections for one client address, so that others always get a connection. */
const CLIENT_SHARE = 1 / 2;
/** The interval between evictions while there are too many connections. It limits how often attackers can reopen closed sockets. */
const EVICTION_INTERVAL = milliseconds(100);
/** Above this multiple of the limit, connections of the busiest client address are closed at once. */
const MAX_EXCESS = 2;

class Connection implements ConnectionFacts {
  /** For TLS, the TLS socket once the handshake is done. */
  socket: Socket;
  readonly client: string;
  readonly openedAt: number;
  usedAt: number;
  isProven = false;
  /** The number of evictions since this connection was opened. */
  evictionRounds = 0;
  current: IncomingMessage | undefined;

  constructor(socket: Socket, client: string, now: number) {
    this.socket = socket;
    this.client = client;
    this.openedAt = now;
    this.usedAt = now;
  }

  get hasSent(): boolean {
    return this.socket.bytesRead > 0;
  }

  get request(): ConnectionFacts["request"] {
    if (this.current === undefined) return "none";
    return this.current.complete ? "answering" : "receiving";
  }
}

/**
 * Limits the connections of a server, in total and per client address. Node's `maxConnections` rejects new connections, so silent
 * sockets would lock all other clients out. This closes the least useful connections instead.
 */
export class ConnectionLimiter {
  readonly #total: number;
  readonly #perClient: number;
  readonly #clock: Clock;
  readonly #all = new Set<Connection>();
  readonly #clients = new Map<string, Set<Connection>>();
  readonly #sockets = new WeakMap<Socket, Connection>();
  /** Connections during their TLS handshake, by address: Node does not link a TLS socket to its TCP socket. */
  readonly #handshakes = new Map<string, Connection>();
  readonly #onClose: (count: number) => void;
  #isScheduled = false;

  /** `clock` must be real time. `onClose` receives the number of evicted connections. */
  constructor(server: Server, total: number, clock: Clock, onClose: (count: number) => void = () => undefined) {
    this.#total = total;
    this.#onClose = onClose;
    this.#perClient = Math.max(1, Math.floor(total * CLIENT_SHARE));
    this.#clock = clock;
    server.on("connection", (socket: Socket) => this.#open(socket));
    server.on("secureConnection", (socket: Socket) => this.#secure(socket));
  }

  /** Returns whether the connection completed a request before. */
  began(request: IncomingMessage): boolean {
    const connection = this.#sockets.get(request.socket);
    if (connection === undefined) return false;
    connection.current = request;
    connection.usedAt = this.#clock.monotonic();
    return connection.isProven;
  }

  /** `isGood`: the client sent a valid request and read the response. */
  ended(request: IncomingMessage, isGood: boolean): void {
    const connection = this.#sockets.get(request.socket);
    if (connection === undefined) return;
    if (connection.current === request) connection.current = undefined;
    connection.usedAt = this.#clock.monotonic();
    if (isGood) connection.isProven = true;
  }

  /** Closes connections without a request in progress, including those that Node does not count as idle. */
  closeUnused(): void {
    for (const connection of this.#all) if (connection.request === "none") connection.socket.destroy();
  }

  #open(socket: Socket): void {
    const client = socket.remoteAddress;
    // The client has already disconnected.
    if (client === undefined) return;
    const connection = new Connection(socket, client, this.#clock.monotonic());
    const key = keyOf(socket);
    this.#all.add(connection);
    this.#sockets.set(socket, connection);
    this.#handshakes.set(key, connection);
    const ofClient = this.#clients.get(client) ?? new Set();
    this.#clients.set(client, ofClient.add(connection));
    socket.once("close", () => {
      if (this.#handshakes.get(key) === connection) this.#handshakes.delete(key);
      this.#forget(connection);
    });
    if (this.#all.size > this.#total * MAX_EXCESS) this.#closeBusiestClient();
    if (this.#all.size > this.#total || ofClient.size > this.#perClient) this.#scheduleEviction();
  }

  #secure(socket: Socket): void {
    const connection = this.#handshakes.get(keyOf(socket));
    if (connection === undefined) return;
    connection.socket = socket;
    this.#sockets.set(socket, connection);
  }

  #scheduleEviction(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.after(EVICTION_INTERVAL, () => this.#evict(), { background: true });
  }

  #evict(): void {
    this.#isScheduled = false;
    for (const connection of this.#all) connection.evictionRounds++;
    for (const ofClient of this.#clients.values()) this.#reduce(ofClient, this.#perClient);
    this.#reduce(this.#all, this.#total);
  }

  #reduce(connections: ReadonlySet<Connection>, limit: number): void {
    const excess = connections.size - limit;
    if (excess <= 0) return;
    this.#close(this.#orderOf(connections, limit).expendable.filter(isSettled).slice(0, excess));
    this.#scheduleEviction();
  }

  /** Closes a quarter at a time, so that sorting is not repeated for each connection. */
  #closeBusiestClient(): void {
    const busiest = [...this.#clients.values()].reduce((largest, other) =>
      other.size > largest.size ? other : largest,
    );
    const { expendable, reserved } = this.#orderOf(busiest, this.#perClient);
    this.#close([...expendable, ...reserved].slice(0, Math.ceil(busiest.size / 4)));
  }

  #orderOf(connections: ReadonlySet<Connection>, limit: number): EvictionOrder<Connection> {
    return evictionOrder(connections, this.#clock.monotonic(), Math.floor(limit * RESERVED_SHARE));
  }

  #close(connections: readonly Connection[]): void {
    if (connections.length > 0) this.#onClose(connections.length);
    for (const connection of connections) {
      connection.socket.destroy();
      this.#forget(connection);
    }
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection);
    const ofClient = this.#clients.get(connection.client);
    ofClient?.delete(connection);
    if (ofClient?.size === 0) this.#clients.delete(connection.client);
  }
}

/** Open for a whole eviction interval, so its first request had time to arrive. */
const isSettled = ({ evictionRounds }: Connection): boolean => evictionRounds > 1;

const keyOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
