// A process that runs the whole cycle. As `FOLDER kill OPERATION before|torn` it kills itself at one of its file operations; as
// `FOLDER copy COPIES` it copies the folder at each of them.
import fs from "node:fs";
import files, { type FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { noTarget, phases, startAgent } from "./cap-lifecycle.ts";

const [folder = "", task = "", ...how] = process.argv.slice(2);
const { writeFileSync, writeSync, openSync } = fs;
const { open, rename } = files;
const done: string[] = [];

/** Called before each file operation; `half` writes half of a journal. SIGKILL runs no handler and flushes no buffer. */
function before(what: string, half?: () => void): void {
  if (isCopying) return;
  done.push(what);
  if (task === "copy") copyFolder(how[0] ?? "", half);
  if (task !== "kill" || done.length !== Number(how[0])) return;
  if (how[1] === "torn") half?.();
  process.kill(process.pid, "SIGKILL");
}

let isCopying = false;
/** A half that was written is overwritten by the whole afterwards. */
function copyFolder(copies: string, half: (() => void) | undefined): void {
  isCopying = true;
  const copyTo = (name: string) =>
    fs.cpSync(folder, join(copies, `${name}-${done.length}`), { recursive: true, verbatimSymlinks: true });
  copyTo("before");
  if (half !== undefined) {
    half();
    copyTo("torn");
  }
  isCopying = false;
}

fs.openSync = (path, flags, mode) => {
  if (typeof flags === "number" && (flags & fs.constants.O_WRONLY) !== 0) before(`open ${String(path)}`);
  return openSync(path, flags, mode);
};
fs.writeSync = ((...args: Parameters<typeof writeSync>) => {
  before("write");
  return writeSync(...args);
}) as typeof writeSync;
files.open = async (path, flags, mode) => {
  if (flags === "w") before(`open ${String(path)}`);
  return counted(await open(path, flags, mode));
};
files.rename = async (from, to) => {
  before(`rename ${String(from)}`);
  return rename(from, to);
};
syncBuiltinESMExports();

function counted(handle: FileHandle): FileHandle {
  const [writeFile, sync] = [handle.writeFile.bind(handle), handle.sync.bind(handle)];
  handle.writeFile = async (text, options) => {
    const bytes = Buffer.from(text as string);
    before("journal", () => void writeSync(handle.fd, bytes, 0, bytes.length >> 1, 0));
    return writeFile(text, options);
  };
  handle.sync = async () => {
    before("sync");
    return sync();
  };
  return handle;
}

const agent = await startAgent(folder);
for (const [index, phase] of [...phases, noTarget].entries()) {
  writeFileSync(join(folder, "phase"), String(index));
  await agent.enforce(phase);
}
await agent.close();
writeFileSync(join(folder, "operations"), JSON.stringify(done));
