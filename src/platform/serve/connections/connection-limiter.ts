import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { type ConnectionFacts, type EvictionOrder, evictionOrder } from "./eviction-order.ts";

/** The share of its connections that a server reserves for those that completed a request before. */
const RESERVED_SHARE = 1 / 4;
/** One client address may have this share of all connections, so that others always find room. */
const CLIENT_SHARE = 1 / 2;
/**
 * From a connection too many until some are closed, and until more are. Attackers open closed sockets again at once, so this
 * bounds how often they can.
 */
const ROUND = milliseconds(100);
/** Beyond so many times the limit it does not wait for the next round, and closes connections of the address that has most. */
const MOST_EXCESS = 2;

class Connection implements ConnectionFacts {
  /** Over TLS the one that speaks it, once the handshake is done. */
  socket: Socket;
  readonly client: string;
  readonly openedAt: number;
  usedAt: number;
  isProven = false;
  /** How often connections were closed to make room while this one was open. */
  rounds = 0;
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
 * Bounds how many connections a server has, altogether and for each client address. Node's own `maxConnections` turns away
 * newcomers, so silent sockets would lock everybody else out; this closes those that deserve it least.
 */
export class ConnectionLimiter {
  readonly #total: number;
  readonly #ofOneClient: number;
  readonly #clock: Clock;
  readonly #all = new Set<Connection>();
  readonly #clients = new Map<string, Set<Connection>>();
  readonly #sockets = new WeakMap<Socket, Connection>();
  /** Connections whose TLS handshake is under way, by their addresses: Node does not tell which socket became which. */
  readonly #handshakes = new Map<string, Connection>();
  readonly #onClose: (count: number) => void;
  #isPlanned = false;

  /** `clock` is real time; `onClose` hears how many connections were closed to make room for others. */
  constructor(server: Server, total: number, clock: Clock, onClose: (count: number) => void = () => undefined) {
    this.#total = total;
    this.#onClose = onClose;
    this.#ofOneClient = Math.max(1, Math.floor(total * CLIENT_SHARE));
    this.#clock = clock;
    server.on("connection", (socket: Socket) => this.#open(socket));
    server.on("secureConnection", (socket: Socket) => this.#secure(socket));
  }

  /** Tells whether the connection completed a request before. */
  began(request: IncomingMessage): boolean {
    const connection = this.#sockets.get(request.socket);
    if (connection === undefined) return false;
    connection.current = request;
    connection.usedAt = this.#clock.monotonic();
    return connection.isProven;
  }

  /** `isGood`: the client sent a proper request and took the answer. */
  ended(request: IncomingMessage, isGood: boolean): void {
    const connection = this.#sockets.get(request.socket);
    if (connection === undefined) return;
    if (connection.current === request) connection.current = undefined;
    connection.usedAt = this.#clock.monotonic();
    if (isGood) connection.isProven = true;
  }

  /** Closes connections on which no request is under way, those too that Node does not count as idle or does not know yet. */
  closeUnused(): void {
    for (const connection of this.#all) if (connection.request === "none") connection.socket.destroy();
  }

  #open(socket: Socket): void {
    const client = socket.remoteAddress;
    // It left already.
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
    if (this.#all.size > this.#total * MOST_EXCESS) this.#closeOfBusiest();
    if (this.#all.size > this.#total || ofClient.size > this.#ofOneClient) this.#reduceSoon();
  }

  #secure(socket: Socket): void {
    const connection = this.#handshakes.get(keyOf(socket));
    if (connection === undefined) return;
    connection.socket = socket;
    this.#sockets.set(socket, connection);
  }

  #reduceSoon(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#clock.after(ROUND, () => this.#round(), { background: true });
  }

  #round(): void {
    this.#isPlanned = false;
    for (const connection of this.#all) connection.rounds++;
    for (const ofClient of this.#clients.values()) this.#reduce(ofClient, this.#ofOneClient);
    this.#reduce(this.#all, this.#total);
  }

  #reduce(connections: ReadonlySet<Connection>, limit: number): void {
    const excess = connections.size - limit;
    if (excess <= 0) return;
    this.#close(this.#orderOf(connections, limit).expendable.filter(isSettled).slice(0, excess));
    this.#reduceSoon();
  }

  /** Several at a time, so that the cost of ordering them is shared. */
  #closeOfBusiest(): void {
    const busiest = [...this.#clients.values()].reduce((most, other) => (other.size > most.size ? other : most));
    const { expendable, reserved } = this.#orderOf(busiest, this.#ofOneClient);
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

/** It has been here for a whole round, in which its first request had time to come. */
const isSettled = ({ rounds }: Connection): boolean => rounds > 1;

const keyOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
