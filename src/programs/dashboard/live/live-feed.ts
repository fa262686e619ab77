import type { Delta } from "../wire.ts";

/** A page that receives live changes: the response of its request. */
export interface LiveClient {
  write(text: string): void;
  readonly unread: number;
  end(): void;
  /** Closes the connection, whatever is unread. */
  drop(): void;
}

interface ClientState {
  /** How many messages the client was not sent since it became too slow. */
  missed: number;
}

export interface LiveFeedOptions {
  readonly epoch: string;
  readonly clients: number;
}

/** Deltas that are retained for clients that come back: two minutes. */
const RETAINED_LIMIT = 120;
/** A client that missed more reads the snapshot again, so that more need not be retained. */
const RETAINED_SIZE = 1_048_576;
/** A client that has this much unread gets no more until it has read everything. Then it reads the snapshot again. */
const UNREAD_LIMIT = 1_048_576;
/** Messages, one or fewer per second, that a page misses before it has to leave: it may never read again, and keeps others out. */
const MISSED_LIMIT = 120;

/** Sends changes to all pages. A slow page never holds up the others, and takes a bounded amount of memory. */
export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #clients = new Map<LiveClient, ClientState>();
  readonly #retained: { readonly seq: number; readonly text: string }[] = [];
  #retainedSize = 0;
  #seq = 0;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
  }

  get seq(): number {
    return this.#seq;
  }

  get size(): number {
    return this.#clients.size;
  }

  get isFull(): boolean {
    return this.#clients.size >= this.#options.clients;
  }

  publish(delta: Omit<Delta, "seq">): void {
    const seq = ++this.#seq;
    const text = `id: ${this.#options.epoch}-${seq}\nevent: delta\ndata: ${JSON.stringify({ seq, ...delta })}\n\n`;
    this.#retained.push({ seq, text });
    this.#retainedSize += text.length;
    while (this.#retained.length > RETAINED_LIMIT || this.#retainedSize > RETAINED_SIZE)
      this.#retainedSize -= this.#retained.shift()?.text.length ?? 0;
    for (const [client, state] of this.#clients) this.#send(client, state, text);
  }

  beat(at: number, silence: number | null): void {
    const text = `event: beat\ndata: ${JSON.stringify({ at, silence })}\n\n`;
    for (const [client, state] of this.#clients) this.#send(client, state, text);
  }

  /** `lastId` is the last message that the client has seen, as EPOCH-SEQ. What it missed follows at once. */
  join(client: LiveClient, lastId: string): void {
    this.#clients.set(client, { missed: 0 });
    const seen = this.#seqOf(lastId);
    const [oldest] = this.#retained;
    if (seen === undefined || seen > this.#seq || (seen < this.#seq && seen + 1 < (oldest?.seq ?? Infinity))) {
      this.#resync(client);
      return;
    }
    for (const { seq, text } of this.#retained) if (seq > seen) client.write(text);
  }

  leave(client: LiveClient): void {
    this.#clients.delete(client);
  }

  close(): void {
    for (const client of this.#clients.keys()) client.end();
    this.#clients.clear();
  }

  #send(client: LiveClient, state: ClientState, text: string): void {
    if (state.missed === 0 && client.unread <= UNREAD_LIMIT) client.write(text);
    else if (state.missed > 0 && client.unread === 0) {
      state.missed = 0;
      this.#resync(client);
    } else if (++state.missed > MISSED_LIMIT) {
      this.leave(client);
      client.drop();
    }
  }

  /** The page reads the snapshot, which contains everything up to its number, and joins again with it. */
  #resync(client: LiveClient): void {
    client.write("event: resync\ndata: {}\n\n");
  }

  #seqOf(id: string): number | undefined {
    const { epoch } = this.#options;
    const text = id.startsWith(`${epoch}-`) ? id.slice(epoch.length + 1) : "";
    const seq = text === "" ? Number.NaN : Number(text);
    return Number.isSafeInteger(seq) && seq >= 0 ? seq : undefined;
  }
}
