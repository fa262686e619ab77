import { isPlain, QUOTE } from "./json-bytes.ts";
import { sameBytes, viewOf } from "./words.ts";

const FIRST_PLACES = 64;
const FIRST_BYTES = 4096;
const EMPTY = -1;
/** kube-scheduler asks by two lists in turn: of the nodes that fit, and of those that the filter has left. */
const FOLLOWERS = 2;

/**
 * From a node's name, as bytes that lie in a request, to its slot: no string is made for a name that is only looked up. Open
 * addressing over a hash of the bytes; a hit is a hit only when every byte is the same.
 *
 * Candidates come in much the same order time and again. So it also remembers which name came behind which: where the expected
 * one comes, comparing its bytes is all there is to do, and neither its end is searched nor its hash worked out.
 */
export class NameIndex {
  /** Of each place: the slot, the hash, and where the name lies in the pool. */
  #slots = new Int32Array(FIRST_PLACES).fill(EMPTY);
  #hashes = new Int32Array(FIRST_PLACES);
  #starts = new Int32Array(FIRST_PLACES);
  #ends = new Int32Array(FIRST_PLACES);
  /** Names in quotes, so that one is compared with all that a list holds of it. */
  #pool = new Uint8Array(FIRST_BYTES);
  #view = viewOf(this.#pool);
  #poolEnd = 0;
  #size = 0;
  /** Of each slot: where its name lies in the pool, without the quotes; nowhere where start and end are 0. */
  #slotStarts = new Int32Array(FIRST_PLACES);
  #slotEnds = new Int32Array(FIRST_PLACES);
  /** Behind each slot, counted from 1: the last two slots that followed; at 0 those that came first. */
  #followers = new Int32Array(FOLLOWERS * (FIRST_PLACES + 1)).fill(EMPTY);

  /** How much memory its names take. */
  get bytes(): number {
    return this.#pool.length;
  }

  /** A name that is known moves to the new slot. */
  set(name: string, slot: number): void {
    if (!(slot >= 0)) throw new RangeError(`the slot of ${name} must be 0 or more, got ${slot}`);
    const bytes = Buffer.from(name);
    const hash = hashOf(bytes, 0, bytes.length);
    let place = this.#placeOf(bytes, 0, bytes.length, hash);
    if (this.#slots[place] !== EMPTY) {
      this.#forgetSlot(place);
      this.#put(place, slot, hash, this.#starts[place], this.#ends[place]);
      return;
    }
    const start = this.#keep(bytes);
    // Keeping it may have moved all others.
    place = this.#placeOf(bytes, 0, bytes.length, hash);
    this.#put(place, slot, hash, start, start + bytes.length);
    this.#size++;
    // At most half full: a look at an unknown name soon meets an empty place.
    if (this.#size * 2 > this.#slots.length) this.#rebuild(this.#slots.length * 2);
  }

  delete(name: string): void {
    const bytes = Buffer.from(name);
    let gap = this.#placeOf(bytes, 0, bytes.length, hashOf(bytes, 0, bytes.length));
    if (this.#slots[gap] === EMPTY) return;
    this.#forgetSlot(gap);
    this.#size--;
    const mask = this.#slots.length - 1;
    // Later names of the same cluster move up, so that no search ends at the gap too early.
    for (let place = (gap + 1) & mask; this.#slots[place] !== EMPTY; place = (place + 1) & mask) {
      const home = (this.#hashes[place] as number) & mask;
      if (((place - home) & mask) < ((place - gap) & mask)) continue;
      this.#move(place, gap);
      gap = place;
    }
    this.#slots[gap] = EMPTY;
  }

  /** The slot of the name whose UTF-8 is bytes[start, end); -1 when it is unknown. */
  slotOf(bytes: Uint8Array, start: number, end: number): number {
    return this.#slots[this.#placeOf(bytes, start, end, hashOf(bytes, start, end))] as number;
  }

  /** The slot whose name, in quotes, lies at `at` and came behind that of `slot` before, -1 being none: the first of a list. Else -1. */
  expectedAt(slot: number, bytes: DataView, at: number): number {
    const first = FOLLOWERS * (slot + 1);
    for (let i = first; i < first + FOLLOWERS; i++) {
      const follower = this.#followers[i] ?? EMPTY;
      if (follower >= 0 && this.#liesAt(follower, bytes, at)) return follower;
    }
    return -1;
  }

  /** Remembers that a known name came behind another, and forgets the older of the two that did before. */
  setFollower(slot: number, follower: number): void {
    const first = FOLLOWERS * (slot + 1);
    if (first >= this.#followers.length) return;
    this.#followers[first + 1] = this.#followers[first] as number;
    this.#followers[first] = follower;
  }

  /** How many bytes a name that was found as expected is in its quotes. */
  quotedLength(slot: number): number {
    return (this.#slotEnds[slot] as number) - (this.#slotStarts[slot] as number) + 2;
  }

  #liesAt(slot: number, bytes: DataView, at: number): boolean {
    const start = (this.#slotStarts[slot] as number) - 1;
    const end = (this.#slotEnds[slot] as number) + 1;
    return start >= 0 && at + end - start <= bytes.byteLength && sameBytes(this.#view, start, end, bytes, at);
  }

  /** Where the name is, or the empty place where it would go. */
  #placeOf(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const slots = this.#slots;
    const hashes = this.#hashes;
    const mask = slots.length - 1;
    let place = hash & mask;
    while (slots[place] !== EMPTY && !(hashes[place] === hash && this.#isAt(place, bytes, start, end))) {
      place = (place + 1) & mask;
    }
    return place;
  }

  #isAt(place: number, bytes: Uint8Array, start: number, end: number): boolean {
    const pool = this.#pool;
    const offset = (this.#starts[place] as number) - start;
    if ((this.#ends[place] as number) - offset !== end) return false;
    for (let i = start; i < end; i++) if (bytes[i] !== pool[i + offset]) return false;
    return true;
  }

  #put(place: number, slot: number, hash: number, start = 0, end = 0): void {
    this.#slots[place] = slot;
    this.#hashes[place] = hash;
    this.#starts[place] = start;
    this.#ends[place] = end;
    if (slot >= this.#slotStarts.length) this.#growSlots(slot + 1);
    // In quotes, bytes that JSON has to escape would read as something else.
    const isAsWritten = isPlain(this.#pool, start, end);
    this.#slotStarts[slot] = isAsWritten ? start : 0;
    this.#slotEnds[slot] = isAsWritten ? end : 0;
  }

  #move(from: number, to: number): void {
    this.#slots[to] = this.#slots[from] as number;
    this.#hashes[to] = this.#hashes[from] as number;
    this.#starts[to] = this.#starts[from] as number;
    this.#ends[to] = this.#ends[from] as number;
  }

  /** The slot no longer stands for the name at this place, unless it already stands for another. */
  #forgetSlot(place: number): void {
    const slot = this.#slots[place] as number;
    if (this.#slotStarts[slot] !== this.#starts[place]) return;
    this.#slotStarts[slot] = 0;
    this.#slotEnds[slot] = 0;
  }

  #growSlots(least: number): void {
    const length = Math.max(least, 2 * this.#slotStarts.length);
    this.#slotStarts = longer(this.#slotStarts, length);
    this.#slotEnds = longer(this.#slotEnds, length);
    const known = this.#followers.length;
    this.#followers = longer(this.#followers, FOLLOWERS * (length + 1)).fill(EMPTY, known);
  }

  /** Where the name begins, behind its quote. */
  #keep(bytes: Uint8Array): number {
    const length = bytes.length + 2;
    if (this.#poolEnd + length > this.#pool.length) this.#rebuild(this.#slots.length, length);
    const start = this.#poolEnd + 1;
    this.#pool[start - 1] = QUOTE;
    this.#pool.set(bytes, start);
    this.#pool[start + bytes.length] = QUOTE;
    this.#poolEnd += length;
    return start;
  }

  /** Moves all names to new arrays; names that were deleted stay behind in the old pool. */
  #rebuild(places: number, room = 0): void {
    const [slots, hashes, starts, ends, pool] = [this.#slots, this.#hashes, this.#starts, this.#ends, this.#pool];
    let used = 0;
    for (let place = 0; place < slots.length; place++) {
      if (slots[place] !== EMPTY) used += (ends[place] as number) - (starts[place] as number) + 2;
    }
    this.#slots = new Int32Array(places).fill(EMPTY);
    this.#hashes = new Int32Array(places);
    this.#starts = new Int32Array(places);
    this.#ends = new Int32Array(places);
    this.#pool = new Uint8Array(Math.max(FIRST_BYTES, (used + room) * 2));
    this.#view = viewOf(this.#pool);
    this.#poolEnd = 0;
    for (let place = 0; place < slots.length; place++) {
      if (slots[place] === EMPTY) continue;
      const name = pool.subarray(starts[place], ends[place]);
      const hash = hashes[place] as number;
      const start = this.#keep(name);
      this.#put(this.#placeOf(name, 0, name.length, hash), slots[place] as number, hash, start, start + name.length);
    }
  }
}

function longer(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(length);
  copy.set(array);
  return copy;
}

/** FNV-1a, its high bits folded into the low ones that choose the place. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}
