import { DRAINING_END, DRAINING_START, NAME_END, NAME_START, PROFILE_END, PROFILE_START } from "./candidates.ts";
import { QUOTE } from "./json-bytes.ts";
import { RowTable } from "./row-table.ts";

/** How Go begins a Node, every time: the metadata is its first field and the name the first of that. */
const HEAD = Buffer.from('{"metadata":{"name":"');
/** The longest name Kubernetes takes. */
const MAX_NAME = 253;
/**
 * Enough for all Nodes of a request of 64 MiB with what each takes beside its bytes. With less, such a request would at its end
 * have forgotten its beginning, and so would the next: none of its Nodes would ever be known.
 */
const MAX_BYTES = 80 * 1024 * 1024;
/** What a Buffer and its place in the map take beside the bytes, so that tiny Nodes are not free. */
const PER_NODE = 640;

/** A new version of a Node is seldom longer by more: it is written over the old one, and nothing is left to be collected. */
const ROUNDED_TO = 256;

/** What is kept of a Node: places, from its own first byte on. */
const ROW = 6;
const KNOWN_END = 0;
const KNOWN_NAME_END = 1;
const KNOWN_PROFILE_START = 2;
const KNOWN_PROFILE_END = 3;
const KNOWN_DRAINING_START = 4;
const KNOWN_DRAINING_END = 5;

/**
 * Nodes that were walked once, byte for byte. kube-scheduler sends the same thousands of Nodes again for every pod, twice, and a
 * Node changes every few minutes: to compare them takes a sixth of the time that walking them takes. Bytes that are equal read
 * equal, so this can only be faster and never wrong.
 */
export class KnownNodes {
  readonly #limit: number;
  /** V8 seeds a map's hashes: names are whatever a client sends, and must not be able to collide on purpose. */
  #index = new Map<string, number>();
  #nodes: Buffer[] = [];
  #places = new RowTable(ROW);
  #bytes = 0;

  constructor(limit = MAX_BYTES) {
    this.#limit = limit;
  }

  /** How much memory the Nodes take. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Which known Node lies at bytes[from…); -1 when none does. */
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

  /** Fills a row for a known Node that lies at `start`; where it ends. */
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

  /** Keeps a copy of a Node that was walked, in place of an older one of its name; one that is not as Go writes it is let go. */
  keep(bytes: Buffer, start: number, end: number, cells: Int32Array, row: number): void {
    const nameEnd = cells[row + NAME_END] as number;
    const profile = cells[row + PROFILE_START] as number;
    const profileEnd = cells[row + PROFILE_END] as number;
    const draining = cells[row + DRAINING_START] as number;
    const drainingEnd = cells[row + DRAINING_END] as number;
    const nameStart = start + HEAD.length;
    const asGoWrites = cells[row + NAME_START] === nameStart && nameEnd >= 0 && profileEnd >= 0 && drainingEnd >= 0;
    const size = roundedUp(end - start) + PER_NODE;
    if (!asGoWrites || nameEnd - nameStart > MAX_NAME || size > this.#limit) return;
    const known = this.#roomFor(keyOf(bytes, nameStart, nameEnd), end - start);
    bytes.copy(this.#nodes[known] as Buffer, 0, start, end);
    const places = this.#places.cells;
    places[known * ROW + KNOWN_END] = end - start;
    places[known * ROW + KNOWN_NAME_END] = nameEnd - start;
    places[known * ROW + KNOWN_PROFILE_START] = profile === 0 ? 0 : profile - start;
    places[known * ROW + KNOWN_PROFILE_END] = profile === 0 ? 0 : profileEnd - start;
    places[known * ROW + KNOWN_DRAINING_START] = draining === 0 ? 0 : draining - start;
    places[known * ROW + KNOWN_DRAINING_END] = draining === 0 ? 0 : drainingEnd - start;
  }

  /** The number of the Node of that name, whose memory takes that many bytes. */
  #roomFor(key: string, length: number): number {
    const known = this.#index.get(key);
    const has = known === undefined ? 0 : (this.#nodes[known] as Buffer).length;
    if (known !== undefined && has >= length) return known;
    const size = roundedUp(length);
    const more = known === undefined ? size + PER_NODE : size - has;
    if (this.#bytes + more > this.#limit) {
      // Names that left are forgotten with all others: those come again with the next request.
      this.#forget();
      return this.#roomFor(key, length);
    }
    this.#bytes += more;
    const number = known ?? this.#places.add() / ROW;
    this.#index.set(key, number);
    // Not from Node's pool, of which one small Node would keep a whole page.
    this.#nodes[number] = Buffer.allocUnsafeSlow(size);
    return number;
  }

  #forget(): void {
    this.#index = new Map();
    this.#nodes = [];
    this.#places = new RowTable(ROW);
    this.#bytes = 0;
  }
}

const roundedUp = (length: number): number => Math.ceil(length / ROUNDED_TO) * ROUNDED_TO;

/** With its opening quote: V8 hashes the text of a number without a seed. */
const keyOf = (bytes: Buffer, nameStart: number, nameEnd: number): string =>
  bytes.toString("latin1", nameStart - 1, nameEnd);
