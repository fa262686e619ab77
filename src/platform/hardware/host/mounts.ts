import { errorCode, HostFileError } from "./host-error.ts";

/**
 * The mount point of the file system that holds a path, from the text of /proc/self/mountinfo or /proc/self/mounts: the longest
 * matching mount point, and among equal ones the last, which hides the others.
 */
export function mountPointOf(path: string, table: string): string | undefined {
  let found: string | undefined;
  for (const line of table.split("\n")) {
    const fields = line.split(" ");
    // mountinfo: id, parent, device, root, mount point, …; mounts: source, mount point, type, …
    const point = unescaped((/^\d+$/.test(fields[0] ?? "") ? fields[4] : fields[1]) ?? "");
    if (point === "" || !(point === "/" || path === point || path.startsWith(`${point}/`))) continue;
    if (found === undefined || point.length >= found.length) found = point;
  }
  return found;
}

/** Adds the mount point to an EROFS error; returns any other error unchanged. */
export const nameReadOnlyMount = (error: unknown, path: string, table: () => string | undefined): unknown =>
  errorCode(error) === "EROFS" ? new HostFileError("EROFS", path, "write", mountPointOf(path, table() ?? "")) : error;

/** The kernel writes spaces and backslashes in octal: `\\040`. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));
