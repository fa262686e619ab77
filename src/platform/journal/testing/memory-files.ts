// An in-memory disk that can lose power, for tests.
import type { JournalFiles } from "../files.ts";

/** Thrown when a test cuts the power. */
class PowerCut extends Error {}

/** After a power cut, unsynced writes may or may not be on disk; this disk retains everything done before the cut. */
export class MemoryFiles implements JournalFiles {
  readonly directory = "/state";
  readonly files = new Map<string, string>();
  /** Every operation, in order. */
  readonly done: string[] = [];
  /** Operations until the power is cut; the last one may do half of its work. */
  operationsLeft = Infinity;
  /** The error of every write. */
  refusal: Error | undefined;
  /** The error of this many next reads. */
  readFault: { readonly error: Error; times: number } | undefined;
  /** Bytes of the last write that reach the disk. */
  tornAt = Infinity;

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
