import { errorCode, HostFileError } from "./host-error.ts";

/** The kernel's own limit. */
const MAX_LINKS = 40;

/**
 * Resolves every symbolic link of a path below a root. An absolute link is accepted only if it starts with one of the root's own
 * names (`/sys` for a copy of the host's sysfs). A path that leaves the root is refused, and so is a path that contains `..`.
 */
export function followLinks(
  path: string,
  linkAt: (path: string) => string | undefined,
  ownNames: readonly string[],
): string {
  const escape = (): HostFileError => new HostFileError("ESCAPE", path, "path leaves the root:");
  if (path.startsWith("/") || path.includes("\0") || path.split("/").includes("..")) throw escape();
  const pending = path.split("/").toReversed();
  const done: string[] = [];
  let links = 0;
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      if (done.pop() === undefined) throw escape();
      continue;
    }
    done.push(part);
    const target = linkAt(done.join("/"));
    if (target === undefined) continue;
    links += 1;
    if (links > MAX_LINKS) throw new HostFileError("ELOOP", path, "too many symbolic links:");
    if (target.startsWith("/")) {
      const own = ownNames.find((name) => target === name || target.startsWith(`${name}/`));
      if (own === undefined) throw escape();
      done.length = 0;
      pending.push(...target.slice(own.length).split("/").toReversed());
    } else {
      done.pop();
      pending.push(...target.split("/").toReversed());
    }
  }
  return done.join("/");
}

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
