interface Entry {
  readonly name: Uint8Array;
  readonly slot: number;
}

/**
 * Maps the bytes of a node name in a request to the node's slot, without creating a string per name. With 5,000 names per request
 * the strings would take more time and garbage than everything else (docs/design/0010-requests-as-bytes.md).
 */
export class NameIndex {
  readonly #entriesByHash = new Map<number, readonly Entry[]>();

  /** A known name moves to the new slot. */
  set(name: string, slot: number): void {
    if (!(slot >= 0)) throw new RangeError(`the slot of ${name} must be 0 or more, got ${slot}`);
    this.delete(name);
    const bytes = Buffer.from(name);
    const hash = hashOf(bytes, 0, bytes.length);
    this.#entriesByHash.set(hash, [...(this.#entriesByHash.get(hash) ?? []), { name: bytes, slot }]);
  }

  delete(name: string): void {
    const bytes = Buffer.from(name);
    const hash = hashOf(bytes, 0, bytes.length);
    const others = this.#entriesByHash.get(hash)?.filter((entry) => !equals(entry.name, bytes, 0, bytes.length));
    if (others === undefined || others.length === 0) this.#entriesByHash.delete(hash);
    else this.#entriesByHash.set(hash, others);
  }

  /** The slot of the name with the UTF-8 bytes[start, end); -1 if it is unknown. */
  slotOf(bytes: Uint8Array, start: number, end: number): number {
    const entries = this.#entriesByHash.get(hashOf(bytes, start, end));
    if (entries === undefined) return -1;
    for (const { name, slot } of entries) if (equals(name, bytes, start, end)) return slot;
    return -1;
  }
}

function equals(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name[i] !== bytes[start + i]) return false;
  return true;
}

/** FNV-1a. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  return hash;
}
