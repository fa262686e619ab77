const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
const utf8 = new TextEncoder();

/** FNV-1a, 32 bits, over the text's UTF-8 bytes. */
export function fnv1a32(text: string): number {
  let hash = OFFSET_BASIS;
  for (const byte of utf8.encode(text)) hash = Math.imul(hash ^ byte, PRIME);
  return hash >>> 0;
}

/** Which of `shards` agents owns the node: the same for every agent that asks, with no agreement between them. */
export const shardOf = (nodeName: string, shards: number): number => (shards >= 1 ? fnv1a32(nodeName) % shards : 0);
