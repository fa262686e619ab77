/** What the host's files answer instead of a text: the kernel's own word for it, and where. */
export class HostFileError extends Error {
  override readonly name = "HostFileError";
  /** The errno's name (`ENODATA`), or one of ours: `ESCAPE` leaves the root, `EUNLISTED` is no file Joulie writes. */
  readonly code: string;
  /** The path below the host's root. */
  readonly path: string;
  /** Where the file system is mounted that refused it (EROFS), as far as /proc says. */
  readonly mount: string | undefined;

  constructor(code: string, path: string, doing: string, mount?: string) {
    super(`${code}: ${doing} ${path}`);
    this.code = code;
    this.path = path;
    this.mount = mount;
  }
}

/** The errno of whatever was thrown; empty where it has none. */
export function errorCode(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" && !code.startsWith("JOULIE_E_") ? code : "";
}

/** What was thrown, in a few words for a message. */
export const errorText = (error: unknown): string =>
  errorCode(error) || (error instanceof Error ? error.message : String(error));
