import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isGone, ownerMark } from "../test/controlplane/owner.ts";

const PREFIX = "joulie-test-scratch-";
/** The Go compiler writes a few GiB while it builds the control plane. */
const ROOM = 8 * 2 ** 30;

/**
 * A folder in memory for the temporary files of tests: they create thousands of small ones, and some sync each write. Undefined
 * where memory is scarce, or where programs cannot be started from there. Removes the folders of runs that were killed.
 */
export function memoryScratch(place = "/dev/shm", room = ROOM): string | undefined {
  try {
    for (const name of readdirSync(place).filter((one) => one.startsWith(PREFIX)))
      if (isGone(name.slice(PREFIX.length)) === true) rmSync(join(place, name), { recursive: true, force: true });
    const { bavail, bsize } = statfsSync(place);
    if (bavail * bsize < room) return undefined;
    const folder = mkdtempSync(join(place, `${PREFIX}${ownerMark()}-`));
    const program = join(folder, "program");
    writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
    if (spawnSync(program).status === 0) return folder;
    rmSync(folder, { recursive: true });
  } catch {
    // There is no such place, or it cannot be used: tests write to the usual folder.
  }
  return undefined;
}
