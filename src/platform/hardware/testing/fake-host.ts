import { HostFileError } from "../host/host-error.ts";
import { followLinks } from "../host/host-path.ts";
import { isWrittenFile } from "../host/written-files.ts";
import type { HostFiles } from "../port.ts";

/** A host's file tree as data, for a FakeHost or a folder of real files. */
export interface HostTree {
  /** Text of each file without its newline. `noData` reads as ENODATA, or becomes an empty real file. */
  readonly files: Readonly<Record<string, string | typeof noData>>;
  /** Link targets by path, as for `ln -s`. */
  readonly links?: Readonly<Record<string, string>>;
  /** Empty directories. */
  readonly folders?: readonly string[];
}

export const noData = Symbol("ENODATA");

export const joinTrees = (...trees: readonly HostTree[]): HostTree => ({
  files: Object.assign({}, ...trees.map(({ files }) => files)) as HostTree["files"],
  links: Object.assign({}, ...trees.map(({ links }) => links)) as NonNullable<HostTree["links"]>,
  folders: trees.flatMap(({ folders }) => folders ?? []),
});

/** Overrides reads and writes of a file. Throw `errno("…")` for a kernel error. */
export interface FileBehaviour {
  readonly read?: (stored: string) => string;
  /** Returns the text to store; undefined stores nothing. */
  readonly write?: (text: string, stored: string) => string | undefined;
  /** Throws the error that `checkWritable` shows: a read-only mount, missing permissions. */
  readonly access?: () => void;
}

export const errno = (code: string): HostFileError => new HostFileError(code, "", "simulated kernel error");

/** One write to a file, successful or not. */
export interface HostWrite {
  readonly path: string;
  readonly text: string;
  readonly refused?: string;
}

/** An in-memory host. `on` overrides the behaviour of files; `set` and `remove` change the tree as the kernel would. */
export class FakeHost implements HostFiles {
  readonly root: string;
  /** All writes in order, by resolved path. */
  readonly writes: HostWrite[] = [];
  /** The number of reads per file, by resolved path. */
  readonly reads = new Map<string, number>();
  readonly #files = new Map<string, string | typeof noData>();
  readonly #links = new Map<string, string>();
  readonly #folders = new Set<string>();
  readonly #behaviours = new Map<string, FileBehaviour[]>();
  /** Called before and after each write. A test may inspect the state, or throw to interrupt a run. */
  beforeWrite: (path: string, text: string) => void = () => {};
  afterWrite: (path: string, text: string) => void = () => {};

  constructor(tree: HostTree, root = "/host-sys") {
    this.root = root;
    for (const [path, target] of Object.entries(tree.links ?? {})) this.link(path, target);
    for (const [path, text] of Object.entries(tree.files)) this.set(path, text);
    for (const folder of tree.folders ?? []) this.#addFolders(folder);
  }

  read(path: string): string {
    const { at, stored } = this.#fileAt(path, "read");
    this.reads.set(at, (this.reads.get(at) ?? 0) + 1);
    const [behaviour] = this.#behaviours.get(at)?.filter(({ read }) => read !== undefined) ?? [];
    if (behaviour?.read !== undefined) return behaviour.read(stored === noData ? "" : stored);
    if (stored === noData) throw new HostFileError("ENODATA", path, "read");
    return stored;
  }

  async readLater(path: string): Promise<string> {
    await Promise.resolve();
    return this.read(path);
  }

  write(path: string, text: string): void {
    const { at, stored } = this.#fileAt(path, "write");
    if (!isWrittenFile(at)) throw new HostFileError("EUNLISTED", path, "not on the list of files that Joulie writes:");
    this.beforeWrite(at, text);
    const [behaviour] = this.#behaviours.get(at)?.filter(({ write }) => write !== undefined) ?? [];
    try {
      const retained = behaviour?.write?.(text, stored === noData ? "" : stored);
      if (behaviour?.write === undefined) this.#files.set(at, text.trimEnd());
      else if (retained !== undefined) this.#files.set(at, retained);
    } catch (error) {
      this.writes.push({ path: at, text, refused: String(error) });
      throw error;
    }
    this.writes.push({ path: at, text });
    this.afterWrite(at, text);
  }

  checkWritable(path: string): void {
    const { at } = this.#fileAt(path, "write");
    this.#behaviours
      .get(at)
      ?.find(({ access }) => access !== undefined)
      ?.access?.();
  }

  /** Writes as another program would: to any file, and without recording the write. */
  writeAsAnother(path: string, text: string): void {
    const { at, stored } = this.#fileAt(path, "write");
    const behaviour = this.#behaviours.get(at)?.find(({ write }) => write !== undefined);
    const retained = behaviour?.write === undefined ? text : behaviour.write(text, stored === noData ? "" : stored);
    if (retained !== undefined) this.#files.set(at, retained);
  }

  list(path: string): readonly string[] {
    const folder = this.real(path);
    const prefix = folder === "" ? "" : `${folder}/`;
    const names = new Set<string>();
    for (const known of [...this.#files.keys(), ...this.#links.keys(), ...this.#folders]) {
      const name = known.startsWith(prefix) ? known.slice(prefix.length).split("/")[0] : undefined;
      if (name) names.add(name);
    }
    return [...names].toSorted();
  }

  exists(path: string): boolean {
    try {
      const at = this.real(path);
      return this.#files.has(at) || this.#folders.has(at);
    } catch {
      return false;
    }
  }

  real(path: string): string {
    return followLinks(path, (part) => this.#links.get(part), [this.root, "/sys", "/proc"]);
  }

  close(): void {}

  /** Creates or changes a file directly, bypassing behaviours. */
  set(path: string, text: string | typeof noData): void {
    const at = this.real(path);
    this.#files.set(at, text);
    this.#addFolders(at.split("/").slice(0, -1).join("/"));
  }

  /** The text of a file, without counting a read. */
  get(path: string): string {
    const stored = this.#files.get(this.real(path));
    if (stored === undefined) throw new Error(`the fake host has no ${path}`);
    return stored === noData ? "" : stored;
  }

  link(path: string, target: string): void {
    this.#links.set(path, target);
    this.#addFolders(path.split("/").slice(0, -1).join("/"));
  }

  /** Removes a file, a link, or a folder with its content. */
  remove(path: string): void {
    const at = this.#links.has(path) ? path : this.real(path);
    for (const known of [this.#files, this.#links, this.#folders]) {
      for (const key of known.keys()) if (key === at || key.startsWith(`${at}/`)) known.delete(key);
    }
  }

  /** Adds a behaviour to a file; the latest wins. Returns a function that removes it. */
  on(path: string, behaviour: FileBehaviour): () => void {
    const at = this.real(path);
    this.#behaviours.set(at, [behaviour, ...(this.#behaviours.get(at) ?? [])]);
    return () => {
      this.#behaviours.set(at, this.#behaviours.get(at)?.filter((other) => other !== behaviour) ?? []);
    };
  }

  /** A copy of all files, to compare later. */
  snapshot(): ReadonlyMap<string, string> {
    return new Map([...this.#files].map(([path, text]) => [path, text === noData ? "" : text]));
  }

  /** Resolved paths of matching files. */
  find(pattern: RegExp): readonly string[] {
    return [...this.#files.keys()].filter((path) => pattern.test(path)).toSorted();
  }

  #fileAt(path: string, doing: string): { readonly at: string; readonly stored: string | typeof noData } {
    const at = this.real(path);
    const stored = this.#files.get(at);
    if (stored === undefined) throw new HostFileError(this.#folders.has(at) ? "EISDIR" : "ENOENT", path, doing);
    return { at, stored };
  }

  #addFolders(folder: string): void {
    const parts = folder.split("/").filter((part) => part !== "");
    for (let depth = 1; depth <= parts.length; depth += 1) this.#folders.add(parts.slice(0, depth).join("/"));
  }
}
