import { mkdir, open, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import * as z from "zod";
import type { SavedHistory } from "../../../core/history/index.ts";
import {
  readStoredAccount,
  readStoredHistory,
  type StoredEnergyAccount,
  type StoredEnergyHistory,
} from "../../../core/report/index.ts";
import type { Logger } from "../../../platform/log/index.ts";

const saved = z.object({
  series: z.array(z.string()),
  tiers: z.array(z.object({ step: z.number(), buckets: z.array(z.array(z.number().nullable())) })),
});

export interface SavedState {
  readonly history: SavedHistory;
  /** Undefined before the first sample. */
  readonly energy: StoredEnergyAccount | undefined;
  readonly hours: StoredEnergyHistory | undefined;
}

/** Larger than a day of history and the accounts of 10,000 nodes; another file must not fill the memory. */
const BYTES_LIMIT = 8 * 2 ** 20;

/** Keeps the cluster's history and its energy account in a small file, replaced as a whole, so that a crash leaves the old or the new one. */
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
  async load(): Promise<SavedState | undefined> {
    try {
      const found: unknown = JSON.parse(await readLimited(this.#path));
      const history = saved.parse(found);
      const { energy: account, hours: ofHours } = found as { energy?: unknown; hours?: unknown };
      const energy = readStoredAccount(account);
      const hours = readStoredHistory(ofHours);
      if ((account !== undefined && energy === undefined) || (ofHours !== undefined && hours === undefined))
        this.#log.warn({ path: this.#path }, "cannot read the energy account in the history file; it begins now");
      return { history, energy, hours };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT")
        this.#log.warn({ path: this.#path, err: error }, "cannot read the history file; the history begins now");
      return undefined;
    }
  }

  /** One at a time; a save that is asked for meanwhile is left out, because the next one contains it. */
  async save(state: () => SavedState): Promise<void> {
    return (this.#saving ??= this.#write(state()).finally(() => (this.#saving = undefined)));
  }

  async #write({ history, energy, hours }: SavedState): Promise<void> {
    const beside = `${this.#path}.new`;
    try {
      await mkdir(dirname(this.#path), { recursive: true });
      await writeFile(beside, JSON.stringify({ ...history, energy, hours }), { mode: 0o600 });
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
  const buffer = Buffer.alloc(BYTES_LIMIT + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length);
    length += bytesRead;
    if (length > BYTES_LIMIT) throw new Error(`it has more than ${BYTES_LIMIT} bytes`);
    if (bytesRead === 0) return buffer.toString("utf8", 0, length);
  }
}
