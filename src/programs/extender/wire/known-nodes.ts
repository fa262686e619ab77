import { END, NAME_END, NAME_START, NODE_ROW, RowTable } from "./candidates.ts";
import { QUOTE } from "./json-bytes.ts";

/** How Go serializes a Node: metadata is the first field, and name is the first field of metadata. */
const HEAD = Buffer.from('{"metadata":{"name":"');
const MAX_NAME = 253;
/** Enough for all Nodes of a 64 MiB request. With less, each such request would evict its own first Nodes. */
const MAX_BYTES = 80 * 1024 * 1024;
/** Overhead of a Buffer and its map entry, so that tiny Nodes count as well. */
const PER_NODE = 640;

/** A new version of a Node seldom grows by more, so it is written over the old one and produces no garbage. */
const ROUNDED_TO = 256;

/** Nodes that were scanned before, byte for byte: comparing one takes a sixth of the time of scanning it. */
export class KnownNodes {
  readonly #limit: number;
  /** V8 seeds the hashes of a Map, so a client cannot choose names that collide. */
  #index = new Map<string, number>();
  #nodes: Buffer[] = [];
  /** Positions as in the table of candidates, but from the first byte of the Node. */
  #places = new RowTable(NODE_ROW);
  #bytes = 0;

  constructor(limit = MAX_BYTES) {
    this.#limit = limit;
  }

  get bytes(): number {
    return this.#bytes;
  }

  find(bytes: Buffer, from: number): number {
    const nameStart = from + HEAD.length;
    const last = Math.min(nameStart + MAX_NAME, bytes.length - 1);
    if (nameStart > last) return -1;
    for (let i = 0; i < HEAD.length; i++) if (bytes[from + i] !== HEAD[i]) return -1;
    let nameEnd = nameStart;
    while (nameEnd < last && bytes[nameEnd] !== QUOTE) nameEnd++;
    const known = this.#index.get(keyOf(bytes, nameStart, nameEnd)) ?? -1;
    const node = this.#nodes[known];
    if (node === undefined) return -1;
    const length = this.#places.cells[known * NODE_ROW + END] as number;
    if (from + length > bytes.length) return -1;
    return bytes.compare(node, 0, length, from, from + length) === 0 ? known : -1;
  }

  /** Fills the row of a cached Node located at `start` and returns its end. */
  place(known: number, start: number, cells: Int32Array, row: number): number {
    const places = this.#places.cells;
    const from = known * NODE_ROW;
    for (let column = 0; column < NODE_ROW; column++) {
      const offset = places[from + column] as number;
      cells[row + column] = offset === 0 ? 0 : start + offset;
    }
    return start + (places[from + END] as number);
  }

  /** Caches a copy of a scanned Node in place of an older version. Ignores a Node that is not serialized the way Go does. */
  keep(bytes: Buffer, start: number, end: number, cells: Int32Array, row: number): void {
    const nameStart = start + HEAD.length;
    const nameEnd = cells[row + NAME_END] as number;
    const isGoFormat = cells[row + NAME_START] === nameStart;
    const size = roundedUp(end - start) + PER_NODE;
    if (!isGoFormat || nameEnd - nameStart > MAX_NAME || size > this.#limit) return;
    const known = this.#allocate(keyOf(bytes, nameStart, nameEnd), end - start);
    bytes.copy(this.#nodes[known] as Buffer, 0, start, end);
    const places = this.#places.cells;
    const from = known * NODE_ROW;
    for (let column = 0; column < NODE_ROW; column++) {
      const position = cells[row + column] as number;
      places[from + column] = position === 0 ? 0 : position - start;
    }
    places[from + END] = end - start;
  }

  #allocate(key: string, length: number): number {
    const known = this.#index.get(key);
    const has = known === undefined ? 0 : (this.#nodes[known] as Buffer).length;
    if (known !== undefined && has >= length) return known;
    const size = roundedUp(length);
    const more = known === undefined ? size + PER_NODE : size - has;
    if (this.#bytes + more > this.#limit) {
      // Drop everything, including deleted Nodes. The next request fills the cache again.
      this.#clear();
      return this.#allocate(key, length);
    }
    this.#bytes += more;
    const number = known ?? this.#places.add() / NODE_ROW;
    this.#index.set(key, number);
    // Not from the Buffer pool, where one small Node would keep a whole slab alive.
    this.#nodes[number] = Buffer.allocUnsafeSlow(size);
    return number;
  }

  #clear(): void {
    this.#index = new Map();
    this.#nodes = [];
    this.#places = new RowTable(NODE_ROW);
    this.#bytes = 0;
  }
}

const roundedUp = (length: number): number => Math.ceil(length / ROUNDED_TO) * ROUNDED_TO;

/** Includes the opening quote, because V8 hashes strings of digits without a seed. */
const keyOf = (bytes: Buffer, nameStart: number, nameEnd: number): string =>
  bytes.toString("latin1", nameStart - 1, nameEnd);

/** Longer lists are looked up again each time. A cluster of 5,000 nodes has lists of 100 to 200 kB. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;

/** The list that the last filter reply accepted, with its slots: prioritize is asked about the same bytes. */
export class LastNames {
  #bytes = Buffer.alloc(0);
  #length = 0;
  #slots = new Int32Array(0);
  #count = 0;
  /** Of the slot index at that time. */
  #version = -1;

  /** Writes the slots of the list to `out`. Returns false if it is another list, or if nodes came or went since. */
  read(list: Buffer, version: number, out: Int32Array): boolean {
    if (list.length === 0 || list.length !== this.#length || version !== this.#version) return false;
    if (list.compare(this.#bytes, 0, this.#length) !== 0) return false;
    out.set(this.#slots.subarray(0, this.#count));
    return true;
  }

  /** Remembers the candidates with code 0, whose names are `list`: quoted, with commas between them. */
  keep(list: Buffer, version: number, slots: Int32Array, codes: Uint8Array): void {
    this.#length = 0;
    if (list.length > MAX_LIST_BYTES) return;
    if (this.#bytes.length < list.length) this.#bytes = Buffer.allocUnsafeSlow(list.length * 2);
    if (this.#slots.length < slots.length) this.#slots = new Int32Array(slots.length * 2);
    this.#count = 0;
    for (let i = 0; i < slots.length; i++) if (codes[i] === 0) this.#slots[this.#count++] = slots[i] as number;
    list.copy(this.#bytes);
    this.#length = list.length;
    this.#version = version;
  }
}
