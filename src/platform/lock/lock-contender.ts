// A process of its own for the race test: takes a folder when it is told to, and says whether it has it.
import { createInterface } from "node:readline";
import { type FolderLock, lockFolder } from "./folder-lock.ts";

const [folder = ""] = process.argv.slice(2);
let lock: FolderLock | undefined;

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "take") {
    lock = await lockFolder(folder);
    process.stdout.write(lock === undefined ? "refused\n" : "owner\n");
  } else if (line === "release") {
    await lock?.release();
    lock = undefined;
    process.stdout.write("released\n");
  }
}
