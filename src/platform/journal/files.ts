import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";

/** The file operations of a journal. Tests record, count and interrupt them. */
export interface JournalFiles {
  /** The directory, for messages. */
  readonly directory: string;
  /** Undefined if the file does not exist. */
  read(name: string): Promise<string | undefined>;
  /** Writes the whole file; it is synced to disk when the promise resolves. */
  write(name: string, text: string): Promise<void>;
  /** Replaces the target. */
  rename(from: string, to: string): Promise<void>;
  /** Syncs the directory, so that renames survive a power loss. */
  settle(): Promise<void>;
}

/** Files in a directory, which is created if needed. Only root can read them. */
export const journalFiles = (directory: string): JournalFiles => ({
  directory,
  async read(name) {
    try {
      return await readFile(join(directory, name), "utf8");
    } catch (error) {
      // ENOTDIR: a path that leads through a file contains no such file either.
      if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
      throw error;
    }
  },
  async write(name, text) {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const file = await open(join(directory, name), "w", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  },
  async rename(from, to) {
    try {
      await rename(join(directory, from), join(directory, to));
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
  },
  async settle() {
    const folder = await open(directory, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },
});

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException | undefined)?.code;
