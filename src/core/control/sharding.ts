const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
const utf8 = new TextEncoder();

/** The 32-bit FNV-1a hash of the text's UTF-8 bytes. */
export function fnv1a32(text: string): number {
  let hash = OFFSET_BASIS;
  for (const byte of utf8.encode(text)) hash = Math.imul(hash ^ byte, PRIME);
  return hash >>> 0;
}

/** The shard that owns the node. Every agent computes the same result without coordination. */
export const shardOf = (nodeName: string, shards: number): number => (shards >= 1 ? fnv1a32(nodeName) % shards : 0);
