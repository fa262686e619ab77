/** A failed access to a host file, with the kernel's error code and the path. */
export class HostFileError extends Error {
  override readonly name = "HostFileError";
  /** The errno name (`ENODATA`), or a code of Joulie: `ESCAPE` = the path leaves the root, `EUNLISTED` = not on the write list. */
  readonly code: string;
  /** The path below the host's root. */
  readonly path: string;
  /** The mount point of the read-only file system (EROFS), if /proc shows it. */
  readonly mount: string | undefined;

  constructor(code: string, path: string, doing: string, mount?: string) {
    super(`${code}: ${doing} ${path}`);
    this.code = code;
    this.path = path;
    this.mount = mount;
  }
}

/** The errno name of a thrown value; empty if it has none. */
export function errorCode(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" && !code.startsWith("JOULIE_E_") ? code : "";
}

/** A short description of a thrown value: its errno name, else its message. */
export const errorText = (error: unknown): string =>
  errorCode(error) || (error instanceof Error ? error.message : String(error));
