import { expired } from "../api/status.ts";
import type { StoredChange } from "./stored-object.ts";

/** The recent changes of a collection, for watches to resume from. Drops older ones, like etcd's compaction. */
export class WatchHistory {
  readonly #limit: number;
  #changes: StoredChange[] = [];
  /** Changes up to this resourceVersion were dropped. */
  #floor: number;

  constructor(limit: number, floor: number) {
    this.#limit = limit;
    this.#floor = floor;
  }

  add(change: StoredChange): void {
    this.#changes.push(change);
    // Drops half at once: dropping one at a time would copy the list on every change.
    if (this.#changes.length <= this.#limit) return;
    const kept = Math.floor(this.#limit / 2);
    this.#floor = this.#changes[this.#changes.length - kept - 1]?.version ?? this.#floor;
    this.#changes = kept === 0 ? [] : this.#changes.slice(-kept);
  }

  /** Drops all changes up to `version`. */
  compact(version: number): void {
    this.#floor = Math.max(this.#floor, version);
    this.#changes = this.#changes.filter((change) => change.version > version);
  }

  /** The changes after `version`; throws 410 when some of them were dropped. */
  since(version: number): readonly StoredChange[] {
    if (version < this.#floor) throw expired(`too old resource version: ${version} (${this.#floor})`);
    let start = this.#changes.length;
    while (start > 0 && (this.#changes[start - 1]?.version ?? 0) > version) start--;
    return this.#changes.slice(start);
  }
}
