import type { Milliseconds, MonotonicInstant } from "../../../core/units/index.ts";

/** Values by name that are believed for a time after they were read. */
export class ExpiringValues<Value> {
  readonly #keep: Milliseconds;
  readonly #values = new Map<string, { readonly value: Value; readonly readAt: MonotonicInstant }>();

  constructor(keep: Milliseconds) {
    this.#keep = keep;
  }

  set(name: string, value: Value, readAt: MonotonicInstant): void {
    this.#values.set(name, { value, readAt });
  }

  get(name: string, now: MonotonicInstant): Value | undefined {
    const kept = this.#values.get(name);
    return kept !== undefined && now - kept.readAt <= this.#keep ? kept.value : undefined;
  }

  names(now: MonotonicInstant): string[] {
    return [...this.#values.keys()].filter((name) => this.get(name, now) !== undefined);
  }

  forgetOld(now: MonotonicInstant): void {
    for (const name of this.#values.keys()) if (this.get(name, now) === undefined) this.#values.delete(name);
  }
}
