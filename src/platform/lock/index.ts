import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { milliseconds } from "../../core/units/index.ts";
import { systemClock } from "../clock/index.ts";
import { jittered, systemRandom } from "../random/index.ts";

export interface FolderLock {
  release(): Promise<void>;
}

/** Lock names: each process has a unique one. */
const LOCK = /^lock.*\.sock$/;
/** A socket that is not yet published as a lock. */
const UNPUBLISHED = /^lock.*\.new$/;
/** Processes that start at the same time see each other and all withdraw. After a random pause one of them is first. */
const TRIES = 5;
const PAUSE = milliseconds(40);
const SPREAD = 0.9;
/** The maximum length of a socket address, with a margin. */
const MAX_ADDRESS_LENGTH = 100;

/**
 * Locks a folder for this process; undefined if a running process has it. The lock is a Unix socket that its owner listens on.
 * It dies with its process, and processes in other containers can check it, unlike a process id.
 *
 * Two processes never both own the folder, even if both find a dead owner. Each one publishes a socket under a unique name and
 * then checks all others: the last one to publish sees the other one and withdraws. A dead name is never reused, so removing
 * it can never remove the lock of a running process. Rejects if the folder cannot contain sockets.
 */
export async function lockFolder(directory: string): Promise<FolderLock | undefined> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const folder = await open(directory, "r");
  // The /proc path of the folder is short, however long its real path is.
  const addressOf = (name: string): string => {
    const path = join(directory, name);
    return Buffer.byteLength(path) <= MAX_ADDRESS_LENGTH ? path : `/proc/self/fd/${folder.fd}/${name}`;
  };
  try {
    for (let tried = 1; ; tried++) {
      if (await hasOwner(directory, addressOf)) return undefined;
      const mine = await publish(directory, addressOf);
      if (mine !== undefined) {
        if (!(await hasOwner(directory, addressOf, mine.name))) return { release: async () => release(mine) };
        await release(mine);
      }
      if (tried === TRIES) return undefined;
      await systemClock.sleep(jittered(PAUSE, SPREAD, systemRandom));
    }
  } finally {
    await folder.close();
  }
}

type AddressOf = (name: string) => string;

interface Published {
  readonly name: string;
  readonly path: string;
  readonly server: Server;
}

/** Undefined if another process removed the socket before it listened. */
async function publish(directory: string, addressOf: AddressOf): Promise<Published | undefined> {
  const id = randomBytes(6).toString("hex");
  const [unpublished, name] = [`lock-${id}.new`, `lock-${id}.sock`];
  const server = await listenOn(addressOf(unpublished));
  const path = join(directory, name);
  try {
    // Published only now that it listens, so that no process can mistake it for dead.
    await rename(join(directory, unpublished), path);
    return { name, path, server };
  } catch (error) {
    await closed(server);
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function release({ path, server }: Published): Promise<void> {
  await rm(path, { force: true });
  await closed(server);
}

/** Whether another process has or is acquiring the folder. Removes the sockets of dead processes. */
async function hasOwner(directory: string, addressOf: AddressOf, self?: string): Promise<boolean> {
  const names = await readdir(directory);
  const others = names.filter((name) => (LOCK.test(name) || UNPUBLISHED.test(name)) && name !== self);
  const alive = await Promise.all(
    others.map(async (name) => {
      if (await isAlive(addressOf(name))) return LOCK.test(name);
      await rm(join(directory, name), { force: true });
      return false;
    }),
  );
  return alive.includes(true);
}

async function listenOn(address: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** A process without permission to connect cannot know that the owner is dead. */
async function isAlive(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error) => resolve(!["ECONNREFUSED", "ENOENT", "ENOTSOCK"].includes(String(codeOf(error)))));
  });
}

async function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException | undefined)?.code;
