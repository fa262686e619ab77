/** Longer lists are looked up again each time. A cluster of 5,000 nodes has lists of 100 to 200 kB. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * The last list of names that a filter reply accepted, with the slots of its nodes. kube-scheduler asks prioritize about that
 * list, in the same order and with the same bytes, so its names need not be looked up a second time. Equal bytes are equal names.
 */
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
    if (list.length > MAX_BYTES) return;
    if (this.#bytes.length < list.length) this.#bytes = Buffer.allocUnsafeSlow(list.length * 2);
    if (this.#slots.length < slots.length) this.#slots = new Int32Array(slots.length * 2);
    this.#count = 0;
    for (let i = 0; i < slots.length; i++) if (codes[i] === 0) this.#slots[this.#count++] = slots[i] as number;
    list.copy(this.#bytes);
    this.#length = list.length;
    this.#version = version;
  }
}
