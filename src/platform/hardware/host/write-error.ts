import type { WriteOutcome } from "../../../core/control/index.ts";
import type { HostFiles } from "../port.ts";
import { errorCode, errorText, HostFileError } from "./host-error.ts";

/** What an errno means for a file the agent writes, and what a person can do about it. Whatever is not here is an error. */
const BLOCKED: Readonly<Record<string, string>> = {
  EACCES: "no permission: the agent has to run as root, with the host's /sys mounted at HOST_SYS_ROOT",
  EPERM: "no permission: the agent has to run as root, with the host's /sys mounted at HOST_SYS_ROOT",
  ESCAPE: "it lies outside HOST_SYS_ROOT: mount the whole of the host's /sys there",
};

/** A write that failed, as an outcome: `blocked` where somebody has to change something, else `error`. */
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

/** Names the mount; where /proc does not say, the file. */
function readOnly(error: unknown): string {
  const what = error instanceof HostFileError ? (error.mount ?? error.path) : "";
  return `${what === "" ? "it" : what} is mounted read-only: mount the host's /sys writable at HOST_SYS_ROOT`;
}

/** Why a file cannot be written, as far as that shows without writing; undefined where nothing keeps from it. */
export function whyUnwritable(files: Pick<HostFiles, "checkWritable">, path: string, what: string): string | undefined {
  try {
    files.checkWritable(path);
    return undefined;
  } catch (error) {
    return writeErrorOutcome(error, what).message;
  }
}
