import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";

/** The few file operations a journal is made of. A test lists them, counts them and cuts them short. */
export interface JournalFiles {
  /** Where they are, for people. */
  readonly directory: string;
  /** Undefined where there is no such file. */
  read(name: string): Promise<string | undefined>;
  /** The whole file, on the disk when it resolves. */
  write(name: string, text: string): Promise<void>;
  /** Takes the place of what was there. */
  rename(from: string, to: string): Promise<void>;
  /** After it, what was renamed stays renamed through a loss of power. */
  settle(): Promise<void>;
}

/** Files of a directory, which is made if it is not there. Only root reads them. */
export const journalFiles = (directory: string): JournalFiles => ({
  directory,
  async read(name) {
    try {
      return await readFile(join(directory, name), "utf8");
    } catch (error) {
      // A path that leads through a file holds none either.
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
