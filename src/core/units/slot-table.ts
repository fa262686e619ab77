/** Assigns small dense numbers to names and reuses released ones: the index of a name's values in columns. */
export class SlotTable {
  readonly #slots = new Map<string, number>();
  readonly #free: number[] = [];
  #end = 0;
  #version = 0;

  /** Changes whenever a name gets or loses its slot. */
  get version(): number {
    return this.#version;
  }

  /** One more than the highest slot ever used: the bound for loops over all slots. */
  get end(): number {
    return this.#end;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** -1 for a name without a slot. */
  of(name: string): number {
    return this.#slots.get(name) ?? -1;
  }

  take(name: string): number {
    const known = this.#slots.get(name);
    if (known !== undefined) return known;
    const slot = this.#free.pop() ?? this.#end++;
    this.#slots.set(name, slot);
    this.#version++;
    return slot;
  }

  release(name: string): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    this.#slots.delete(name);
    this.#version++;
    this.#free.push(slot);
  }
}
