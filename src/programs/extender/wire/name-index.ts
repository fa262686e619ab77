const FIRST_PLACES = 64;
const EMPTY = -1;

/**
 * From a node's name, as bytes that lie in a request, to its slot: no string is made for a name that is only looked up. Open
 * addressing over a hash of the bytes; a hit is a hit only when every byte is the same.
 */
export class NameIndex {
  /** Of each place: the slot, the hash, and where the name lies in the pool. */
  #slots = new Int32Array(FIRST_PLACES).fill(EMPTY);
  #hashes = new Int32Array(FIRST_PLACES);
  #starts = new Int32Array(FIRST_PLACES);
  #ends = new Int32Array(FIRST_PLACES);
  #pool = new Uint8Array(4096);
  #poolEnd = 0;
  #size = 0;

  /** How much memory its names take. */
  get bytes(): number {
    return this.#pool.length;
  }

  /** A name that is known moves to the new slot. */
  set(name: string, slot: number): void {
    if (!(slot >= 0)) throw new RangeError(`the slot of ${name} must be 0 or more, got ${slot}`);
    const bytes = Buffer.from(name);
    const hash = hashOf(bytes, 0, bytes.length);
    const place = this.#placeOf(bytes, 0, bytes.length, hash);
    if (this.#slots[place] !== EMPTY) {
      this.#slots[place] = slot;
      return;
    }
    const start = this.#keep(bytes);
    this.#put(place, slot, hash, start, start + bytes.length);
    this.#size++;
    // At most half full: a look at an unknown name soon meets an empty place.
    if (this.#size * 2 > this.#slots.length) this.#rebuild(this.#slots.length * 2);
  }

  delete(name: string): void {
    const bytes = Buffer.from(name);
    let gap = this.#placeOf(bytes, 0, bytes.length, hashOf(bytes, 0, bytes.length));
    if (this.#slots[gap] === EMPTY) return;
    this.#size--;
    const mask = this.#slots.length - 1;
    // Later names of the same cluster move up, so that no search ends at the gap too early.
    for (let place = (gap + 1) & mask; this.#slots[place] !== EMPTY; place = (place + 1) & mask) {
      const home = (this.#hashes[place] as number) & mask;
      if (((place - home) & mask) < ((place - gap) & mask)) continue;
      this.#put(gap, this.#slots[place], this.#hashes[place], this.#starts[place], this.#ends[place]);
      gap = place;
    }
    this.#slots[gap] = EMPTY;
  }

  /** The slot of the name whose UTF-8 is bytes[start, end); -1 when it is unknown. */
  slotOf(bytes: Uint8Array, start: number, end: number): number {
    return this.#slots[this.#placeOf(bytes, start, end, hashOf(bytes, start, end))] as number;
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

  #put(place: number, slot = EMPTY, hash = 0, start = 0, end = 0): void {
    this.#slots[place] = slot;
    this.#hashes[place] = hash;
    this.#starts[place] = start;
    this.#ends[place] = end;
  }

  #keep(bytes: Uint8Array): number {
    if (this.#poolEnd + bytes.length > this.#pool.length) this.#rebuild(this.#slots.length, bytes.length);
    const start = this.#poolEnd;
    this.#pool.set(bytes, start);
    this.#poolEnd = start + bytes.length;
    return start;
  }

  /** Moves all names to new arrays; names that were deleted stay behind in the old pool. */
  #rebuild(places: number, room = 0): void {
    const [slots, hashes, starts, ends, pool] = [this.#slots, this.#hashes, this.#starts, this.#ends, this.#pool];
    let used = 0;
    for (let place = 0; place < slots.length; place++) {
      if (slots[place] !== EMPTY) used += (ends[place] as number) - (starts[place] as number);
    }
    this.#slots = new Int32Array(places).fill(EMPTY);
    this.#hashes = new Int32Array(places);
    this.#starts = new Int32Array(places);
    this.#ends = new Int32Array(places);
    this.#pool = new Uint8Array(Math.max(4096, (used + room) * 2));
    this.#poolEnd = 0;
    for (let place = 0; place < slots.length; place++) {
      if (slots[place] === EMPTY) continue;
      const name = pool.subarray(starts[place], ends[place]);
      const hash = hashes[place] as number;
      const start = this.#poolEnd;
      this.#pool.set(name, start);
      this.#poolEnd = start + name.length;
      this.#put(this.#placeOf(name, 0, name.length, hash), slots[place], hash, start, this.#poolEnd);
    }
  }
}

/** FNV-1a, its high bits folded into the low ones that choose the place. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}
