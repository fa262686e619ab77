// A disk in memory that can lose power, for tests.
import type { JournalFiles } from "./files.ts";

/** Thrown where a test cuts a run short. */
class PowerCut extends Error {}

/** What was written but not settled may be there or not after a power cut; this disk keeps all that was done up to it. */
export class MemoryFiles implements JournalFiles {
  readonly directory = "/state";
  readonly files = new Map<string, string>();
  /** Every operation, in order. */
  readonly done: string[] = [];
  /** Operations until the power is cut; the one that meets it may do half of its work. */
  operationsLeft = Number.POSITIVE_INFINITY;
  /** What every write fails with. */
  refusal: Error | undefined;
  /** What so many of the next reads fail with. */
  readFault: { readonly error: Error; times: number } | undefined;
  /** Bytes of the last write that reach the disk. */
  tornAt = Number.POSITIVE_INFINITY;

  async read(name: string): Promise<string | undefined> {
    if (this.readFault !== undefined && this.readFault.times-- > 0) throw this.readFault.error;
    return this.files.get(name);
  }

  async write(name: string, text: string): Promise<void> {
    if (this.refusal !== undefined) throw this.refusal;
    if (this.operationsLeft === 0) this.files.set(name, text.slice(0, this.tornAt));
    this.#operation(`write ${name}`);
    this.files.set(name, text);
  }

  async rename(from: string, to: string): Promise<void> {
    this.#operation(`rename ${from} ${to}`);
    const text = this.files.get(from);
    if (text === undefined) return;
    this.files.delete(from);
    this.files.set(to, text);
  }

  async settle(): Promise<void> {
    this.#operation("settle");
  }

  #operation(what: string): void {
    if (this.operationsLeft <= 0) throw new PowerCut("the power was cut");
    this.operationsLeft--;
    this.done.push(what);
  }
}
