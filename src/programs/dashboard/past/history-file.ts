import { mkdir, open, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import * as z from "zod";
import type { SavedHistory } from "../../../core/history/index.ts";
import type { Logger } from "../../../platform/log/index.ts";

const saved = z.object({
  series: z.array(z.string()),
  tiers: z.array(z.object({ step: z.number(), buckets: z.array(z.array(z.number().nullable())) })),
});

/** Larger than any day; another file must not fill the memory. */
const MOST_BYTES = 4_194_304;

/** Keeps the history of the cluster in a small file, replaced as a whole, so that a crash leaves the old or the new one. */
export class HistoryFile {
  readonly #path: string;
  readonly #log: Logger;
  #saving: Promise<void> | undefined;
  #isFailing = false;

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
  }

  /** Undefined if there is none, or none that can be read: the history then begins now. */
  async load(): Promise<SavedHistory | undefined> {
    try {
      return saved.parse(JSON.parse(await readLimited(this.#path)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT")
        this.#log.warn({ path: this.#path, err: error }, "cannot read the history file; the history begins now");
      return undefined;
    }
  }

  /** One at a time; a save that is asked for meanwhile is left out, because the next one contains it. */
  async save(history: () => SavedHistory): Promise<void> {
    return (this.#saving ??= this.#write(history()).finally(() => (this.#saving = undefined)));
  }

  async #write(history: SavedHistory): Promise<void> {
    const beside = `${this.#path}.new`;
    try {
      await mkdir(dirname(this.#path), { recursive: true });
      await writeFile(beside, JSON.stringify(history), { mode: 0o600 });
      await rename(beside, this.#path);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        this.#log.warn({ path: this.#path, err: error }, "cannot save the history; it is kept in memory only");
      this.#isFailing = true;
    }
  }
}

/** Reads no more than the limit, whatever the size that the file system states. */
async function readLimited(path: string): Promise<string> {
  await using file = await open(path, "r");
  const buffer = Buffer.alloc(MOST_BYTES + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length);
    length += bytesRead;
    if (length > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES} bytes`);
    if (bytesRead === 0) return buffer.toString("utf8", 0, length);
  }
}
