import { errorMessageOf } from "../../../core/api/index.ts";
import type { WriteOutcome } from "../../../core/control/index.ts";
import type { HostFiles } from "../port.ts";

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
export const errorText = (error: unknown): string => errorCode(error) || errorMessageOf(error);

/** Error codes that the user has to fix, with the remedy. Any other code is a plain error. */
const BLOCKED: Readonly<Record<string, string>> = {
  EACCES: "no permission: run the agent as root, with the host's /sys mounted at HOST_SYS_ROOT",
  EPERM: "no permission: run the agent as root, with the host's /sys mounted at HOST_SYS_ROOT",
  ESCAPE: "the path leaves HOST_SYS_ROOT: mount the host's whole /sys there",
};

/** The outcome of a failed write: `blocked` if the user has to fix something, else `error`. */
export function writeErrorOutcome(
  error: unknown,
  what: string,
  alsoBlocked: Readonly<Record<string, string>> = {},
): WriteOutcome & { readonly message: string } {
  const code = errorCode(error);
  const remedy = alsoBlocked[code] ?? (code === "EROFS" ? readOnly(error) : BLOCKED[code]);
  return remedy === undefined
    ? { result: "error", message: `${what}: ${errorText(error)}` }
    : { result: "blocked", message: `${what}: ${remedy} (${code})` };
}

/** Names the mount, or the file if /proc does not show the mount. */
function readOnly(error: unknown): string {
  const what = error instanceof HostFileError ? (error.mount ?? error.path) : "";
  return `${what === "" ? "it" : what} is mounted read-only: mount the host's /sys writable at HOST_SYS_ROOT`;
}

/** Why a file cannot be written, as far as it shows without writing; undefined if a write should succeed. */
export function whyUnwritable(files: Pick<HostFiles, "checkWritable">, path: string, what: string): string | undefined {
  try {
    files.checkWritable(path);
    return undefined;
  } catch (error) {
    return writeErrorOutcome(error, what).message;
  }
}
