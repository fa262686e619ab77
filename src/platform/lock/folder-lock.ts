import { mkdir, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";

export interface FolderLock {
  release(): Promise<void>;
}

const NAME = "lock.sock";
/** A socket that is found dead is removed, and the place tried for again. */
const TRIES = 3;

/**
 * Takes a folder for this process; undefined where a living one has it. The lock is a socket that its owner listens on: it dies
 * with its process, and says so to processes of other containers, too, where a process id would mean somebody else.
 * Fails where the folder can hold no socket.
 */
export async function lockFolder(directory: string): Promise<FolderLock | undefined> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, NAME);
  for (let turn = 0; turn < TRIES; turn++) {
    const server = await listenOn(path);
    if (server !== undefined) return { release: async () => closed(server) };
    if (await isAlive(path)) return undefined;
    await rm(path, { force: true });
  }
  return undefined;
}

/** Undefined where something of that name is there. */
async function listenOn(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      if (codeOf(error) === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    server.listen(path, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** Whoever must not even ask cannot tell that it is dead. */
async function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error) => resolve(!["ECONNREFUSED", "ENOENT", "ENOTSOCK"].includes(String(codeOf(error)))));
  });
}

/** The name goes with it. */
async function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException | undefined)?.code;
