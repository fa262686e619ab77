// A separate process for the race test: locks a folder on command and reports whether it succeeded.
import { createInterface } from "node:readline";
import { type FolderLock, lockFolder } from "../index.ts";

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
