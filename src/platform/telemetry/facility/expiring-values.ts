import type { Milliseconds, MonotonicInstant } from "../../../core/units/index.ts";

/** Values by name that expire some time after they were read. */
export class ExpiringValues<Value> {
  readonly #ttl: Milliseconds;
  readonly #values = new Map<string, { readonly value: Value; readonly readAt: MonotonicInstant }>();

  constructor(ttl: Milliseconds) {
    this.#ttl = ttl;
  }

  set(name: string, value: Value, readAt: MonotonicInstant): void {
    this.#values.set(name, { value, readAt });
  }

  get(name: string, now: MonotonicInstant): Value | undefined {
    const entry = this.#values.get(name);
    return entry !== undefined && now - entry.readAt <= this.#ttl ? entry.value : undefined;
  }

  names(now: MonotonicInstant): string[] {
    return [...this.#values.keys()].filter((name) => this.get(name, now) !== undefined);
  }

  deleteExpired(now: MonotonicInstant): void {
    for (const name of this.#values.keys()) if (this.get(name, now) === undefined) this.#values.delete(name);
  }
}
