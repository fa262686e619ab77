import type { TlsMaterial } from "./identity.ts";

/** Returns the same object until its content changes; the transport compares it by identity. */
export function cachedUntilChanged(current: () => TlsMaterial): () => TlsMaterial {
  let last: { material: TlsMaterial; text: string } | undefined;
  return () => {
    const material = current();
    const text = JSON.stringify(material);
    if (last?.text !== text) last = { material, text };
    return last.material;
  };
}
