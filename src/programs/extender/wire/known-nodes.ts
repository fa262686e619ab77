import { DRAINING_END, DRAINING_START, NAME_END, NAME_START, PROFILE_END, PROFILE_START } from "./candidates.ts";
import { QUOTE } from "./json-bytes.ts";
import { RowTable } from "./row-table.ts";

/** How Go serializes a Node: metadata is the first field, and name is the first field of metadata. */
const HEAD = Buffer.from('{"metadata":{"name":"');
/** The longest name that Kubernetes accepts. */
const MAX_NAME = 253;
/**
 * Enough for all Nodes of a 64 MiB request with their overhead. With less, each such request would evict its own first Nodes,
 * and the cache would never hit.
 */
const MAX_BYTES = 80 * 1024 * 1024;
/** Overhead of a Buffer and its map entry, so that tiny Nodes count as well. */
const PER_NODE = 640;

/** A new version of a Node seldom grows by more, so it is written over the old one and produces no garbage. */
const ROUNDED_TO = 256;

/** Columns of a cached Node: positions relative to its first byte. */
const ROW = 6;
const KNOWN_END = 0;
const KNOWN_NAME_END = 1;
const KNOWN_PROFILE_START = 2;
const KNOWN_PROFILE_END = 3;
const KNOWN_DRAINING_START = 4;
const KNOWN_DRAINING_END = 5;

/**
 * A cache of Nodes that were scanned before, byte for byte. kube-scheduler sends the same thousands of Nodes twice for every pod,
 * and a Node changes every few minutes. Comparing a Node takes a sixth of the time of scanning it. Equal bytes have equal
 * meaning, so a hit is never wrong.
 */
export class KnownNodes {
  readonly #limit: number;
  /** V8 seeds the hashes of a Map, so a client cannot choose names that collide. */
  #index = new Map<string, number>();
  #nodes: Buffer[] = [];
  #places = new RowTable(ROW);
  #bytes = 0;

  constructor(limit = MAX_BYTES) {
    this.#limit = limit;
  }

  /** Memory of the cached Nodes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of the cached Node that equals the bytes at `from`; -1 if there is none. */
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
    const length = this.#places.cells[known * ROW + KNOWN_END] as number;
    if (from + length > bytes.length) return -1;
    return bytes.compare(node, 0, length, from, from + length) === 0 ? known : -1;
  }

  /** Fills the row of a cached Node located at `start` and returns its end. */
  place(known: number, start: number, cells: Int32Array, row: number): number {
    const places = this.#places.cells;
    const from = known * ROW;
    const profile = places[from + KNOWN_PROFILE_START] as number;
    cells[row + NAME_START] = start + HEAD.length;
    cells[row + NAME_END] = start + (places[from + KNOWN_NAME_END] as number);
    cells[row + PROFILE_START] = profile === 0 ? 0 : start + profile;
    cells[row + PROFILE_END] = start + (places[from + KNOWN_PROFILE_END] as number);
    const draining = places[from + KNOWN_DRAINING_START] as number;
    cells[row + DRAINING_START] = draining === 0 ? 0 : start + draining;
    cells[row + DRAINING_END] = start + (places[from + KNOWN_DRAINING_END] as number);
    return start + (places[from + KNOWN_END] as number);
  }

  /** Caches a copy of a scanned Node in place of an older version. Ignores a Node that is not serialized the way Go does. */
  keep(bytes: Buffer, start: number, end: number, cells: Int32Array, row: number): void {
    const nameEnd = cells[row + NAME_END] as number;
    const profile = cells[row + PROFILE_START] as number;
    const profileEnd = cells[row + PROFILE_END] as number;
    const draining = cells[row + DRAINING_START] as number;
    const drainingEnd = cells[row + DRAINING_END] as number;
    const nameStart = start + HEAD.length;
    const isGoFormat = cells[row + NAME_START] === nameStart && nameEnd >= 0 && profileEnd >= 0 && drainingEnd >= 0;
    const size = roundedUp(end - start) + PER_NODE;
    if (!isGoFormat || nameEnd - nameStart > MAX_NAME || size > this.#limit) return;
    const known = this.#allocate(keyOf(bytes, nameStart, nameEnd), end - start);
    bytes.copy(this.#nodes[known] as Buffer, 0, start, end);
    const places = this.#places.cells;
    places[known * ROW + KNOWN_END] = end - start;
    places[known * ROW + KNOWN_NAME_END] = nameEnd - start;
    places[known * ROW + KNOWN_PROFILE_START] = profile === 0 ? 0 : profile - start;
    places[known * ROW + KNOWN_PROFILE_END] = profile === 0 ? 0 : profileEnd - start;
    places[known * ROW + KNOWN_DRAINING_START] = draining === 0 ? 0 : draining - start;
    places[known * ROW + KNOWN_DRAINING_END] = draining === 0 ? 0 : drainingEnd - start;
  }

  /** The number of the Node of that name, with a buffer of at least `length` bytes. */
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
    const number = known ?? this.#places.add() / ROW;
    this.#index.set(key, number);
    // Not from the Buffer pool, where one small Node would keep a whole slab alive.
    this.#nodes[number] = Buffer.allocUnsafeSlow(size);
    return number;
  }

  #clear(): void {
    this.#index = new Map();
    this.#nodes = [];
    this.#places = new RowTable(ROW);
    this.#bytes = 0;
  }
}

const roundedUp = (length: number): number => Math.ceil(length / ROUNDED_TO) * ROUNDED_TO;

/** Includes the opening quote, because V8 hashes strings of digits without a seed. */
const keyOf = (bytes: Buffer, nameStart: number, nameEnd: number): string =>
  bytes.toString("latin1", nameStart - 1, nameEnd);
