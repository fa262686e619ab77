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
import { followLinks } from "./host-path.ts";
import { nameReadOnlyMount } from "./mounts.ts";
import { isWrittenFile } from "./written-files.ts";

export interface HostFilesOptions {
  /** What the root is called on the host itself (`/sys`): absolute links below it start with that. */
  readonly knownAs?: string;
  /** The text of /proc/self/mountinfo, to name the mount that refuses a write. */
  readonly mountTable?: () => string | undefined;
}

/** A file of sysfs is at most a page; /proc/cpuinfo of the largest machines is under 2 MiB. */
const MOST_BYTES = 4 * 1024 * 1024;
const PAGE = 4096;
/** A read by a kept descriptor takes 1 µs, one that opens and closes 10. Descriptors are few, so the oldest goes. */
const MOST_KEPT = 512;
const SYSFS_MAGIC = 0x62656572;
/** What the kernel says when the file behind a descriptor is gone: the path may lead to another one by now. */
const GONE: ReadonlySet<string> = new Set(["ENODEV", "ENOENT", "ESTALE"]);

const { O_RDONLY, O_WRONLY, O_NOFOLLOW, O_NONBLOCK, W_OK } = constants;

interface Kept {
  readonly descriptor: number;
  /** procfs says 0 for files that have text, and hands them out in pieces; sysfs gives all at once. */
  readonly inPieces: boolean;
}

/** The files of a real host, or of a copy of its tree. */
export class HostDirectory implements HostFiles {
  readonly root: string;
  readonly #ownNames: readonly string[];
  readonly #kept = new Map<string, Kept>();
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
    const kept = this.#kept.get(path);
    if (kept === undefined) return this.#readNew(path);
    try {
      // A plain file that was deleted reads on as if nothing had happened; those of sysfs do not.
      if (!this.#isSysfs && fstatSync(kept.descriptor).nlink === 0) throw new HostFileError("ENOENT", path, "read");
      const text = this.#textOf(kept, path);
      this.#kept.delete(path);
      this.#kept.set(path, kept);
      return text;
    } catch (error) {
      if (!GONE.has(errorCode(error))) throw error;
      this.#forget(path);
      return this.#readNew(path);
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
        if (total > MOST_BYTES) throw new HostFileError("EFBIG", path, "read");
      }
      return withoutLineEnd(Buffer.concat(chunks).toString());
    } finally {
      await file.close();
    }
  }

  /** No file is made and none is emptied before: a value goes out in one piece, as sysfs wants it. */
  write(path: string, text: string): void {
    const real = this.real(path);
    if (!isWrittenFile(real)) throw new HostFileError("EUNLISTED", path, "not a file that Joulie writes:");
    const descriptor = this.#orNameMount(real, () =>
      openSync(join(this.root, real), O_WRONLY | O_NOFOLLOW | O_NONBLOCK),
    );
    try {
      const bytes = Buffer.from(text);
      if (writeSync(descriptor, bytes, 0, bytes.length, 0) !== bytes.length) {
        throw new HostFileError("EIO", path, "only a part was written to");
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
    for (const path of this.#kept.keys()) this.#forget(path);
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

  #readNew(path: string): string {
    const descriptor = openSync(this.#at(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) throw new HostFileError("EISDIR", path, "read");
      const kept = { descriptor, inPieces: stats.size === 0 };
      const text = this.#textOf(kept, path);
      this.#keep(path, kept);
      return text;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  #textOf({ descriptor, inPieces }: Kept, path: string): string {
    const first = readSync(descriptor, this.#page, 0, PAGE, 0);
    if (first === 0 || (!inPieces && first < PAGE)) return withoutLineEnd(this.#page.toString("utf8", 0, first));
    const chunks = [Buffer.from(this.#page.subarray(0, first))];
    for (let total = first, count = first; count > 0; total += count) {
      if (total > MOST_BYTES) throw new HostFileError("EFBIG", path, "read");
      count = readSync(descriptor, this.#page, 0, PAGE, total);
      chunks.push(Buffer.from(this.#page.subarray(0, count)));
    }
    return withoutLineEnd(Buffer.concat(chunks).toString());
  }

  #keep(path: string, kept: Kept): void {
    const oldest = this.#kept.size >= MOST_KEPT ? this.#kept.keys().next().value : undefined;
    if (oldest !== undefined) this.#forget(oldest);
    this.#kept.set(path, kept);
  }

  #forget(path: string): void {
    const kept = this.#kept.get(path);
    this.#kept.delete(path);
    if (kept !== undefined) closeSync(kept.descriptor);
  }
}

const withoutLineEnd = (text: string): string => (text.endsWith("\n") ? text.slice(0, -1) : text);

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
