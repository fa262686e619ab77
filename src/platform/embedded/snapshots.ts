import { badRequest, expired } from "./status.ts";
import type { Stored } from "./stored.ts";

/** More lists than this half read at once, and the oldest of them has to start again. */
const MOST = 64;

interface Token {
  readonly snapshot: number;
  readonly start: number;
}

/** Lists that are read page by page: each as it was when its first page was asked for. */
export class Snapshots {
  readonly #kept = new Map<number, { readonly items: readonly Stored[]; readonly version: number }>();
  #next = 1;

  keep(items: readonly Stored[], version: number): number {
    const id = this.#next++;
    this.#kept.set(id, { items, version });
    if (this.#kept.size > MOST)
      for (const [oldest] of this.#kept) if (this.#kept.size > MOST) this.#kept.delete(oldest);
    return id;
  }

  release(id: number): void {
    this.#kept.delete(id);
  }

  clear(): void {
    this.#kept.clear();
  }

  static tokenOf(token: Token): string {
    return Buffer.from(JSON.stringify(token)).toString("base64url");
  }

  /** What a continue token stands for. */
  resume(text: string) {
    const token = read(text);
    if (token === undefined) throw badRequest("continue key is not valid: it is no token of this server");
    const kept = this.#kept.get(token.snapshot);
    if (kept === undefined) {
      throw expired(
        "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.",
      );
    }
    return { ...kept, ...token };
  }
}

function read(text: string): Token | undefined {
  try {
    const token = JSON.parse(Buffer.from(text, "base64url").toString()) as Token;
    return Number.isSafeInteger(token.snapshot) && Number.isSafeInteger(token.start) && token.start >= 0
      ? token
      : undefined;
  } catch {
    return undefined;
  }
}
