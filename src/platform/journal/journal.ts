import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { Clock, Timer } from "../clock/index.ts";
import { type JournalEntry, type JournalKey, keyText } from "./entry.ts";
import type { JournalFiles } from "./files.ts";
import { type Generation, type ReadGeneration, readGeneration, written } from "./generation.ts";

export interface JournalOptions {
  readonly files: JournalFiles;
  readonly clock: Clock;
  /** A file that is damaged, or a note that could not be written. */
  readonly onProblem: (problem: string) => void;
  readonly mostEntries?: number;
}

const CURRENT = "originals.json";
const PREVIOUS = "originals.previous.json";
const NEXT = "originals.next.json";
const DAMAGED = "originals.damaged.json";

/** Some 10,000 nodes. */
const MOST_ENTRIES = 50_000;
/** Notes are worth less than a sync of the disk each. */
const NOTED_WITHIN: Milliseconds = milliseconds(2000);

/**
 * The originals of what Joulie changes, safe before it is changed. Every file is a whole generation, written aside, synced, and
 * renamed into place; the one before stays. Of the files that are there the newest good one counts, so that a write cut
 * short anywhere costs nothing but itself. Many that keep something at once share a write.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #entries = new Map<string, JournalEntry>();
  readonly #byNode = new Map<string, Set<string>>();
  #generation: number;
  /** Why nothing may be written: another Joulie's file is here. */
  readonly #sealed: string | undefined;
  /** Why no board may be new: it may be one that was changed, and what it is now our own doing. */
  readonly #lossy: string | undefined;
  #writing: Promise<void> | undefined;
  #waiting: Promise<void> | undefined;
  #noting: Timer | undefined;

  private constructor(
    options: JournalOptions,
    { generation, entries }: Generation,
    { sealed, lossy }: { readonly sealed: string | undefined; readonly lossy: string | undefined },
  ) {
    this.#options = options;
    this.#generation = generation;
    for (const entry of entries) this.#set(entry);
    this.#sealed = sealed;
    this.#lossy = lossy;
  }

  /** Reads what there is. A directory that cannot be read is told at the first write, which is when it matters. */
  static async open(options: JournalOptions): Promise<Journal> {
    const { files, onProblem } = options;
    const found = await Promise.all([CURRENT, NEXT, PREVIOUS].map(async (name) => readOne(files, name)));
    const there = found.filter((one) => one !== undefined);
    const good = there.flatMap(({ read }) => read.good ?? []);
    const [newest = { generation: 0, entries: [] }] = good.toSorted((a, b) => b.generation - a.generation);
    const newer = there.find(({ read }) => read.good === undefined && read.newer === true);
    const sealed = newer && `${files.directory}/${newer.name}: ${newer.read.damage}`;
    // The file before may lack what was kept last; only the one that was to follow has it all.
    const next = there.find(({ name }) => name === NEXT)?.read.good;
    const lost = newest === next ? undefined : there.find(({ name, read }) => name === CURRENT && isDamaged(read));
    for (const { name, read } of there) {
      // What was cut short while it was written aside is no loss: nothing was changed on its word.
      if (read.good === undefined && name !== NEXT && name !== lost?.name)
        onProblem(`${files.directory}/${name} cannot be used: ${read.damage}`);
    }
    if (lost !== undefined) await files.rename(CURRENT, DAMAGED).catch((error: unknown) => onProblem(said(error)));
    const known = lost ?? (await readOne(files, DAMAGED));
    const lossy = known && lossOf(files, known);
    if (lossy !== undefined) onProblem(lossy);
    return new Journal(options, newest, { sealed, lossy });
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
    if (this.#lossy !== undefined) throw new Error(`cannot keep the original limit in ${this.#lossy}`);
    if (this.#entries.size >= mostEntries) throw new Error(`the journal in ${files.directory} is full`);
    this.#set(entry);
    try {
      await this.#write();
      // Once more, for the file before to know it, too: then no one file that is lost is a loss.
      this.#soon();
    } catch (error) {
      this.#delete(entry);
      throw new Error(`cannot keep the original limit in ${files.directory}: ${said(error)}`, { cause: error });
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

  /** Everything that was noted and dropped is on the disk, or told as a problem. */
  async flush(): Promise<void> {
    if (this.#noting === undefined) {
      await this.#waiting?.catch(() => undefined);
      await this.#writing?.catch(() => undefined);
      return;
    }
    this.#noting.cancel();
    this.#noting = undefined;
    await this.#write().catch((error: unknown) => this.#options.onProblem(said(error)));
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
    this.#noting ??= this.#options.clock.after(NOTED_WITHIN, () => {
      this.#noting = undefined;
      this.#write().catch((error: unknown) => this.#options.onProblem(said(error)));
    });
  }

  /** One write at a time; all that come during one wait for the next together. */
  async #write(): Promise<void> {
    if (this.#sealed !== undefined) throw new Error(this.#sealed);
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
    await files.write(NEXT, written({ generation, entries: [...this.#entries.values()] }));
    await files.rename(CURRENT, PREVIOUS);
    await files.rename(NEXT, CURRENT);
    await files.settle();
  }
}

const isDamaged = (read: ReadGeneration): boolean => read.good === undefined && read.newer !== true;

const lossOf = ({ directory }: JournalFiles, { name, read }: Found): string =>
  `${directory}/${name} cannot be used${read.damage === undefined ? "" : `: ${read.damage}`}; what it alone knew to be original is not known any more. No other limit is changed until somebody has checked those of this machine (booting resets most) and removed ${DAMAGED}`;

interface Found {
  readonly name: string;
  readonly read: ReadGeneration;
}

async function readOne(files: JournalFiles, name: string): Promise<Found | undefined> {
  try {
    const text = await files.read(name);
    return text === undefined ? undefined : { name, read: readGeneration(text) };
  } catch (error) {
    return { name, read: { damage: said(error) } };
  }
}

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));
