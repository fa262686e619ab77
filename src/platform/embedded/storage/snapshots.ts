import { milliseconds } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../clock/index.ts";
import { badRequest, expired } from "../api/status.ts";
import type { StoredObject } from "./stored-object.ts";

/** Maximum number of retained snapshots; above it the oldest list must restart. */
const MAX_SNAPSHOTS = 64;
/** The default etcd compaction interval. A snapshot retains all objects of its list. */
const KEPT = milliseconds(5 * 60_000);

interface Token {
  readonly snapshot: number;
  readonly start: number;
}

interface Snapshot {
  /** Identifies the list: kind, namespace and selectors. */
  readonly of: string;
  readonly items: readonly StoredObject[];
  readonly version: number;
}

/** Snapshots for paginated lists: all pages show the state at the first page. */
export class Snapshots {
  readonly #kept = new Map<number, Snapshot & { readonly timer: Timer }>();
  #next = 1;

  keep(clock: Clock, snapshot: Snapshot): number {
    const id = this.#next++;
    const timer = clock.after(KEPT, () => this.#forget(id), { background: true });
    this.#kept.set(id, { ...snapshot, timer });
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= MAX_SNAPSHOTS) break;
      this.#forget(oldest);
    }
    return id;
  }

  clear(): void {
    for (const id of this.#kept.keys()) this.#forget(id);
  }

  #forget(id: number): void {
    this.#kept.get(id)?.timer.cancel();
    this.#kept.delete(id);
  }

  static tokenOf(token: Token): string {
    return Buffer.from(JSON.stringify(token)).toString("base64url");
  }

  /** Resolves a continue token of the list `of`. */
  resume(text: string, of: string): Snapshot & Token {
    const token = read(text);
    if (token === undefined) throw badRequest("continue key is not valid: it was not issued by this server");
    const kept = this.#kept.get(token.snapshot);
    if (kept === undefined) {
      throw expired(
        "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.",
      );
    }
    if (kept.of !== of)
      throw badRequest("continue key is not valid: it belongs to another kind, namespace or selector");
    return { ...kept, ...token };
  }
}

function read(text: string): Token | undefined {
  try {
    const { snapshot, start } = JSON.parse(Buffer.from(text, "base64url").toString()) as Token;
    return Number.isSafeInteger(snapshot) && Number.isSafeInteger(start) && start >= 0
      ? { snapshot, start }
      : undefined;
  } catch {
    return undefined;
  }
}
