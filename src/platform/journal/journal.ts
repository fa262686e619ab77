import { CodedError, errorMessageOf } from "../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import { backoffDelay } from "../backoff/index.ts";
import type { Clock, Timer } from "../clock/index.ts";
import { checkEntry, type JournalEntry, type JournalKey, keyText } from "./entry.ts";
import type { JournalFiles } from "./files.ts";
import { formatGeneration } from "./generation.ts";
import { CURRENT, type LoadedJournal, loadJournal, NEXT, PREVIOUS } from "./load.ts";

export interface JournalOptions {
  readonly files: JournalFiles;
  readonly clock: Clock;
  /** Called for a damaged file and for an update that could not be written. */
  readonly onProblem: (problem: string) => void;
  readonly maxEntries?: number;
}

/** Enough for about 10,000 nodes. */
const MAX_ENTRIES = 50_000;
/** Updates of the last set value wait for the first delay, because they are not worth a disk sync each. Failures back off. */
const BACKOFF = { first: milliseconds(2000), longest: milliseconds(60_000) };
/** The retries before the program exits, within the two seconds that it has. */
const FLUSH_TRIES = 4;
const FLUSH_PAUSE: Milliseconds = milliseconds(300);
const READ_AGAIN: Milliseconds = milliseconds(10_000);

/**
 * Stores the original limits on disk before Joulie changes them. Every file is a complete generation: it is written to a
 * temporary file, synced and renamed into place, and the previous generation is retained. The newest valid file counts, so an
 * interrupted write loses only itself. Concurrent entries share one write.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #entries = new Map<string, JournalEntry>();
  readonly #byNode = new Map<string, Set<string>>();
  #generation = 0;
  #loaded: LoadedJournal;
  #writing: Promise<void> | undefined;
  #waiting: Promise<void> | undefined;
  #noting: Timer | undefined;
  #failures = 0;
  /** Reported once, however often it is retried. */
  #toldProblem: string | undefined;

  private constructor(options: JournalOptions, loaded: LoadedJournal) {
    this.#options = options;
    this.#loaded = loaded;
    this.#take(loaded);
  }

  /** Reads the existing files. A missing directory is reported at the first write. */
  static async open(options: JournalOptions): Promise<Journal> {
    const { files, clock, onProblem } = options;
    return new Journal(options, await loadJournal(files, clock, onProblem));
  }

  /** Why the journal may be incomplete: a file is damaged, unreadable or of a newer version of Joulie. */
  get problem(): string | undefined {
    const { unreadable, newerVersion, lostEntries } = this.#loaded;
    return unreadable ?? newerVersion ?? lostEntries;
  }

  get size(): number {
    return this.#entries.size;
  }

  entries(): Iterable<JournalEntry> {
    return this.#entries.values();
  }

  /** The entries of one node that is controlled over HTTP, or without a name those of this host. */
  of(node?: string): readonly JournalEntry[] {
    return Array.from(this.#byNode.get(node ?? "") ?? [], (key) => this.#entries.get(key)).filter(
      (entry) => entry !== undefined,
    );
  }

  get(key: JournalKey): JournalEntry | undefined {
    return this.#entries.get(keyText(key));
  }

  /** Resolves when the entry is on disk; rejects and removes the entry if that fails. An existing original is not replaced. */
  async keep(entry: JournalEntry): Promise<void> {
    const key = keyText(entry);
    if (this.#entries.has(key)) {
      // Another call may be writing the same entry: known does not mean on disk.
      await this.#writing;
      await this.#waiting;
      if (this.#entries.has(key)) return;
    }
    const { maxEntries = MAX_ENTRIES, files } = this.#options;
    const { lostEntries, unreadable } = this.#loaded;
    const refusal = unreadable ?? lostEntries;
    if (refusal !== undefined)
      throw new CodedError("JOULIE_E_JOURNAL", `cannot store the original limit in ${refusal}`);
    const wrong = checkEntry(entry);
    if (wrong !== undefined)
      throw new CodedError("JOULIE_E_JOURNAL", `cannot store the original limit in ${files.directory}: ${wrong}`);
    if (this.#entries.size >= maxEntries)
      throw new CodedError("JOULIE_E_JOURNAL", `the journal in ${files.directory} is full`);
    this.#set(entry);
    try {
      await this.#write();
      // Write twice, so that the previous file has the entry too: then the loss of one file loses nothing.
      this.#soon();
    } catch (error) {
      this.#delete(entry);
      throw new CodedError(
        "JOULIE_E_JOURNAL",
        `cannot store the original limit in ${files.directory}: ${errorMessageOf(error)}`,
        { cause: error },
      );
    }
  }

  /** Records the value that was set; it is written soon. */
  note(key: JournalKey, ours: number): void {
    const entry = this.get(key);
    if (entry === undefined || entry.ours === ours) return;
    this.#set({ ...entry, ours });
    this.#soon();
  }

  /** Records that the value is still in force after another boot. */
  confirm(key: JournalKey, boot: string): void {
    const entry = this.get(key);
    if (entry === undefined) return;
    this.#set({ ...entry, boot });
    this.#soon();
  }

  /** Removes an entry after the board was restored. If this does not reach the disk, the board is restored again, which is harmless. */
  drop(key: JournalKey): void {
    if (this.#delete(key)) this.#soon();
  }

  /** Writes all pending updates. Returns false and reports a problem if that fails. */
  async flush(): Promise<boolean> {
    if (this.#noting === undefined) {
      await this.#waiting?.catch(() => undefined);
      await this.#writing?.catch(() => undefined);
    }
    for (let tried = 0; this.#noting !== undefined; tried++) {
      if (tried === FLUSH_TRIES) return false;
      if (tried > 0) await this.#options.clock.sleep(FLUSH_PAUSE);
      this.#noting?.cancel();
      this.#noting = undefined;
      await this.#writeNotes();
    }
    return true;
  }

  #take({ newest, unreadable }: LoadedJournal): void {
    this.#generation = newest.generation;
    for (const entry of newest.entries) this.#set(entry);
    if (unreadable === undefined) return;
    const { files, clock } = this.#options;
    clock.after(
      READ_AGAIN,
      () => {
        // The problem was already reported.
        void loadJournal(files, clock, (problem) => problem !== unreadable && this.#options.onProblem(problem)).then(
          (loaded) => {
            this.#loaded = loaded;
            this.#take(loaded);
          },
        );
      },
      { background: true },
    );
  }

  #set(entry: JournalEntry): void {
    const { node = "" } = entry;
    const key = keyText(entry);
    this.#entries.set(key, entry);
    const own = this.#byNode.get(node);
    if (own === undefined) this.#byNode.set(node, new Set([key]));
    else own.add(key);
  }

  #delete(entry: JournalKey): boolean {
    const { node = "" } = entry;
    const key = keyText(entry);
    const own = this.#byNode.get(node);
    own?.delete(key);
    if (own?.size === 0) this.#byNode.delete(node);
    return this.#entries.delete(key);
  }

  #soon(): void {
    const pause = backoffDelay(this.#failures + 1, BACKOFF);
    this.#noting ??= this.#options.clock.after(
      pause,
      () => {
        this.#noting = undefined;
        void this.#writeNotes();
      },
      // A full disk must not keep the program from exiting.
      { background: this.#failures > 0 },
    );
  }

  /** Retries failed writes: a file that still lists restored entries would undo later changes at the next start. */
  async #writeNotes(): Promise<void> {
    try {
      await this.#write();
    } catch (error) {
      this.#failures++;
      const problem = errorMessageOf(error);
      if (problem !== this.#toldProblem) this.#options.onProblem(problem);
      this.#toldProblem = problem;
      this.#soon();
    }
  }

  /** One write at a time; all calls during a write share the next one. */
  async #write(): Promise<void> {
    const refusal = this.#loaded.unreadable ?? this.#loaded.newerVersion;
    if (refusal !== undefined) throw new CodedError("JOULIE_E_JOURNAL", refusal);
    if (this.#writing === undefined) {
      const writing = this.#put().finally(() => {
        this.#writing = undefined;
      });
      this.#writing = writing;
      return writing;
    }
    this.#waiting ??= this.#writing
      .catch(() => undefined)
      .then(async () => {
        this.#waiting = undefined;
        return this.#write();
      });
    return this.#waiting;
  }

  async #put(): Promise<void> {
    const { files } = this.#options;
    // Incremented even if the write fails, so that no two files have the same number.
    const generation = ++this.#generation;
    await files.write(NEXT, formatGeneration({ generation, entries: [...this.#entries.values()] }));
    await files.rename(CURRENT, PREVIOUS);
    await files.rename(NEXT, CURRENT);
    await files.settle();
    this.#failures = 0;
    this.#toldProblem = undefined;
  }
}
