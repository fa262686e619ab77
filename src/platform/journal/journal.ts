import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { Clock, Timer } from "../clock/index.ts";
import { checkEntry, type JournalEntry, type JournalKey, keyText } from "./entry.ts";
import type { JournalFiles } from "./files.ts";
import { formatGeneration } from "./generation.ts";
import { CURRENT, type LoadedJournal, loadJournal, NEXT, PREVIOUS, errorText } from "./load.ts";

export interface JournalOptions {
  readonly files: JournalFiles;
  readonly clock: Clock;
  /** A file that is damaged, or a note that could not be written. */
  readonly onProblem: (problem: string) => void;
  readonly mostEntries?: number;
}

/** Some 10,000 nodes. */
const MOST_ENTRIES = 50_000;
/** Notes are worth less than a sync of the disk each. */
const NOTED_WITHIN: Milliseconds = milliseconds(2000);
/** A note that could not be written is tried again, at growing pauses. */
const LONGEST_PAUSE = 60_000;
/** What is tried before the program ends, within the two seconds it has for it. */
const FLUSH_TRIES = 4;
const FLUSH_PAUSE: Milliseconds = milliseconds(300);
/** How often files that could not be read are tried again. */
const READ_AGAIN: Milliseconds = milliseconds(10_000);

/**
 * The originals of what Joulie changes, safe before it is changed. Every file is a whole generation, written aside, synced, and
 * renamed into place; the one before stays. Of the files that are there the newest good one counts, so that a write cut
 * short anywhere costs nothing but itself. Many that keep something at once share a write.
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
  /** Told once, however often it is tried again. */
  #toldProblem: string | undefined;

  private constructor(options: JournalOptions, loaded: LoadedJournal) {
    this.#options = options;
    this.#loaded = loaded;
    this.#take(loaded);
  }

  /** Reads what there is. A directory that is not there is told at the first write, which is when it matters. */
  static async open(options: JournalOptions): Promise<Journal> {
    const { files, clock, onProblem } = options;
    return new Journal(options, await loadJournal(files, clock, onProblem));
  }

  /** Why it may not know all that is in force: a file that is damaged, unreadable or a newer Joulie's. */
  get problem(): string | undefined {
    const { unread, sealed, lossy } = this.#loaded;
    return unread ?? sealed ?? lossy;
  }

  get size(): number {
    return this.#entries.size;
  }

  entries(): Iterable<JournalEntry> {
    return this.#entries.values();
  }

  /** Those of one node that is reached over HTTP, or without a name those of this host. */
  of(node?: string): readonly JournalEntry[] {
    return Array.from(this.#byNode.get(node ?? "") ?? [], (key) => this.#entries.get(key)).filter(
      (entry) => entry !== undefined,
    );
  }

  get(key: JournalKey): JournalEntry | undefined {
    return this.#entries.get(keyText(key));
  }

  /** Resolves when the entry is on the disk; rejects, and forgets it, when that fails. An original that is known stays. */
  async keep(entry: JournalEntry): Promise<void> {
    const key = keyText(entry);
    if (this.#entries.has(key)) {
      // Another may be keeping it this moment: known is not yet safe.
      await this.#writing;
      await this.#waiting;
      if (this.#entries.has(key)) return;
    }
    const { mostEntries = MOST_ENTRIES, files } = this.#options;
    const { lossy, unread } = this.#loaded;
    const shut = unread ?? lossy;
    if (shut !== undefined) throw new Error(`cannot keep the original limit in ${shut}`);
    const wrong = checkEntry(entry);
    if (wrong !== undefined) throw new Error(`cannot keep the original limit in ${files.directory}: ${wrong}`);
    if (this.#entries.size >= mostEntries) throw new Error(`the journal in ${files.directory} is full`);
    this.#set(entry);
    try {
      await this.#write();
      // Once more, for the file before to know it, too: then no one file that is lost is a loss.
      this.#soon();
    } catch (error) {
      this.#delete(entry);
      throw new Error(`cannot keep the original limit in ${files.directory}: ${errorText(error)}`, { cause: error });
    }
  }

  /** What was set just now; written soon. */
  note(key: JournalKey, ours: number): void {
    const entry = this.get(key);
    if (entry === undefined || entry.ours === ours) return;
    this.#set({ ...entry, ours });
    this.#soon();
  }

  /** Another boot has come, and it is still in force. */
  confirm(key: JournalKey, boot: string): void {
    const entry = this.get(key);
    if (entry === undefined) return;
    this.#set({ ...entry, boot });
    this.#soon();
  }

  /** The board is as it was. Should this not reach the disk, it is restored once more, which changes nothing. */
  drop(key: JournalKey): void {
    if (this.#delete(key)) this.#soon();
  }

  /** Everything that was noted and dropped is on the disk; false, and told as a problem, where it is not. */
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

  #take({ newest, unread }: LoadedJournal): void {
    this.#generation = newest.generation;
    for (const entry of newest.entries) this.#set(entry);
    if (unread === undefined) return;
    const { files, clock } = this.#options;
    clock.after(
      READ_AGAIN,
      () => {
        // The problem has been told.
        void loadJournal(files, clock, (problem) => problem !== unread && this.#options.onProblem(problem)).then((loaded) => {
          this.#loaded = loaded;
          this.#take(loaded);
        });
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
    const pause = Math.min(NOTED_WITHIN * 2 ** this.#failures, LONGEST_PAUSE);
    this.#noting ??= this.#options.clock.after(
      milliseconds(pause),
      () => {
        this.#noting = undefined;
        void this.#writeNotes();
      },
      // A disk that stays full keeps no program from its end.
      { background: this.#failures > 0 },
    );
  }

  /** What fails is tried again: a file that still lists what was restored would undo later changes at the next start. */
  async #writeNotes(): Promise<void> {
    try {
      await this.#write();
    } catch (error) {
      this.#failures++;
      const problem = errorText(error);
      if (problem !== this.#toldProblem) this.#options.onProblem(problem);
      this.#toldProblem = problem;
      this.#soon();
    }
  }

  /** One write at a time; all that come during one wait for the next together. */
  async #write(): Promise<void> {
    const shut = this.#loaded.unread ?? this.#loaded.sealed;
    if (shut !== undefined) throw new Error(shut);
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
    // Whether it succeeds or not, no two files have the same number.
    const generation = ++this.#generation;
    await files.write(NEXT, formatGeneration({ generation, entries: [...this.#entries.values()] }));
    await files.rename(CURRENT, PREVIOUS);
    await files.rename(NEXT, CURRENT);
    await files.settle();
    this.#failures = 0;
    this.#toldProblem = undefined;
  }
}
