import { milliseconds } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../clock/index.ts";
import { badRequest, expired } from "../api/status.ts";
import type { StoredObject } from "./stored-object.ts";

/** More lists than this half read at once, and the oldest of them has to start again. */
const MOST = 64;
/** As long as a cluster keeps what is past: each holds on to every object as it was. */
const KEPT = milliseconds(5 * 60_000);

interface Token {
  readonly snapshot: number;
  readonly start: number;
}

interface Snapshot {
  /** Which list it is a part of: kind, namespace and selectors. */
  readonly of: string;
  readonly items: readonly StoredObject[];
  readonly version: number;
}

/** Lists that are read page by page: each as it was when its first page was asked for. */
export class Snapshots {
  readonly #kept = new Map<number, Snapshot & { readonly timer: Timer }>();
  #next = 1;

  keep(clock: Clock, snapshot: Snapshot): number {
    const id = this.#next++;
    const timer = clock.after(KEPT, () => this.#forget(id), { background: true });
    this.#kept.set(id, { ...snapshot, timer });
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= MOST) break;
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

  /** What a continue token of the list `of` stands for. */
  resume(text: string, of: string): Snapshot & Token {
    const token = read(text);
    if (token === undefined) throw badRequest("continue key is not valid: it is no token of this server");
    const kept = this.#kept.get(token.snapshot);
    if (kept === undefined) {
      throw expired(
        "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.",
      );
    }
    if (kept.of !== of) throw badRequest("continue key is not valid: it is of another kind, namespace or selector");
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
