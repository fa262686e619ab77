import { HostFileError } from "./host-error.ts";

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
