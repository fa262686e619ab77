import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { HostFiles } from "../port.ts";
import { errorCode, HostFileError } from "./host-error.ts";
import { followLinks, nameReadOnlyMount } from "./host-path.ts";
import { isWrittenFile } from "./written-files.ts";

export interface HostFilesOptions {
  /** The root's path on the host itself (`/sys`): absolute links below the root start with it. */
  readonly knownAs?: string;
  /** The text of /proc/self/mountinfo, used to name a read-only mount. */
  readonly mountTable?: () => string | undefined;
}

/** A sysfs file is at most one page; /proc/cpuinfo of the largest machines is under 2 MiB. */
const MAX_BYTES = 4 * 1024 * 1024;
const PAGE = 4096;
/** A read through an open descriptor takes 1 µs, one that opens and closes the file 10 µs. Beyond this many, the oldest is closed. */
const MAX_OPEN_FILES = 512;
const SYSFS_MAGIC = 0x62656572;
/** Errors for a descriptor whose file is gone. The path may lead to a new file by now. */
const GONE: ReadonlySet<string> = new Set(["ENODEV", "ENOENT", "ESTALE"]);

const { O_RDONLY, O_WRONLY, O_NOFOLLOW, O_NONBLOCK, W_OK } = constants;

interface OpenFile {
  readonly descriptor: number;
  /** procfs reports size 0 for files that have text and returns them in pieces; sysfs returns the whole file at once. */
  readonly inPieces: boolean;
}

/** The files of a real host, or of a copy of its file tree. Keeps descriptors open between reads. */
export class HostDirectory implements HostFiles {
  readonly root: string;
  readonly #ownNames: readonly string[];
  readonly #openFiles = new Map<string, OpenFile>();
  readonly #page = Buffer.allocUnsafe(PAGE);
  readonly #isSysfs: boolean;
  readonly #mountTable: () => string | undefined;

  constructor(root: string, { knownAs, mountTable = () => undefined }: HostFilesOptions = {}) {
    this.root = resolve(root);
    this.#ownNames = [this.root, realRoot(this.root), ...(knownAs === undefined ? [] : [knownAs])];
    this.#isSysfs = isSysfs(this.root);
    this.#mountTable = mountTable;
  }

  read(path: string): string {
    const file = this.#openFiles.get(path);
    if (file === undefined) return this.#openAndRead(path);
    try {
      // A deleted ordinary file stays readable through its descriptor; a sysfs file does not.
      if (!this.#isSysfs && fstatSync(file.descriptor).nlink === 0) throw new HostFileError("ENOENT", path, "read");
      const text = this.#textOf(file, path);
      this.#openFiles.delete(path);
      this.#openFiles.set(path, file);
      return text;
    } catch (error) {
      if (!GONE.has(errorCode(error))) throw error;
      this.#close(path);
      return this.#openAndRead(path);
    }
  }

  async readLater(path: string): Promise<string> {
    const file = await open(this.#at(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const chunks: Buffer[] = [];
      const { size } = await file.stat();
      for (let total = 0; ; ) {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PAGE), 0, PAGE, total);
        chunks.push(buffer.subarray(0, bytesRead));
        total += bytesRead;
        if (bytesRead === 0 || (size > 0 && bytesRead < PAGE)) break;
        if (total > MAX_BYTES) throw new HostFileError("EFBIG", path, "read");
      }
      return withoutNewline(Buffer.concat(chunks).toString());
    } finally {
      await file.close();
    }
  }

  /** Neither creates nor truncates the file first: sysfs needs the value in one write. */
  write(path: string, text: string): void {
    const real = this.real(path);
    if (!isWrittenFile(real))
      throw new HostFileError("EUNLISTED", path, "not on the list of files that Joulie writes:");
    const descriptor = this.#orNameMount(real, () =>
      openSync(join(this.root, real), O_WRONLY | O_NOFOLLOW | O_NONBLOCK),
    );
    try {
      const bytes = Buffer.from(text);
      if (writeSync(descriptor, bytes, 0, bytes.length, 0) !== bytes.length) {
        throw new HostFileError("EIO", path, "incomplete write to");
      }
      // In a copy of the tree the end of a longer text would stay behind; sysfs has no length.
      if (!this.#isSysfs) ftruncateSync(descriptor, bytes.length);
    } finally {
      closeSync(descriptor);
    }
  }

  checkWritable(path: string): void {
    const real = this.real(path);
    this.#orNameMount(real, () => accessSync(join(this.root, real), W_OK));
  }

  list(path: string): readonly string[] {
    try {
      return readdirSync(this.#at(path));
    } catch (error) {
      if (["ENOENT", "ENOTDIR"].includes(errorCode(error))) return [];
      throw error;
    }
  }

  exists(path: string): boolean {
    try {
      return statSync(this.#at(path), { throwIfNoEntry: false }) !== undefined;
    } catch {
      return false;
    }
  }

  real(path: string): string {
    return followLinks(path, (part) => this.#linkAt(part), this.#ownNames);
  }

  close(): void {
    for (const path of this.#openFiles.keys()) this.#close(path);
  }

  #orNameMount<Result>(path: string, work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw nameReadOnlyMount(error, join(this.root, path), this.#mountTable);
    }
  }

  #at(path: string): string {
    return join(this.root, this.real(path));
  }

  #linkAt(path: string): string | undefined {
    const full = join(this.root, path);
    return lstatSync(full, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(full) : undefined;
  }

  #openAndRead(path: string): string {
    const descriptor = openSync(this.#at(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) throw new HostFileError("EISDIR", path, "read");
      const file = { descriptor, inPieces: stats.size === 0 };
      const text = this.#textOf(file, path);
      this.#keepOpen(path, file);
      return text;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  #textOf({ descriptor, inPieces }: OpenFile, path: string): string {
    const first = readSync(descriptor, this.#page, 0, PAGE, 0);
    if (first === 0 || (!inPieces && first < PAGE)) return withoutNewline(this.#page.toString("utf8", 0, first));
    const chunks = [Buffer.from(this.#page.subarray(0, first))];
    for (let total = first, count = first; count > 0; total += count) {
      if (total > MAX_BYTES) throw new HostFileError("EFBIG", path, "read");
      count = readSync(descriptor, this.#page, 0, PAGE, total);
      chunks.push(Buffer.from(this.#page.subarray(0, count)));
    }
    return withoutNewline(Buffer.concat(chunks).toString());
  }

  #keepOpen(path: string, file: OpenFile): void {
    const oldest = this.#openFiles.size >= MAX_OPEN_FILES ? this.#openFiles.keys().next().value : undefined;
    if (oldest !== undefined) this.#close(oldest);
    this.#openFiles.set(path, file);
  }

  #close(path: string): void {
    const file = this.#openFiles.get(path);
    this.#openFiles.delete(path);
    if (file !== undefined) closeSync(file.descriptor);
  }
}

const withoutNewline = (text: string): string => (text.endsWith("\n") ? text.slice(0, -1) : text);

function realRoot(root: string): string {
  try {
    return realpathSync(root);
  } catch {
    return root;
  }
}

function isSysfs(root: string): boolean {
  try {
    return statfsSync(root).type === SYSFS_MAGIC;
  } catch {
    return false;
  }
}
