import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockFolder } from "./index.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "joulie-lock-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe("a locked folder", () => {
  it("has one owner at a time, and leaves no files behind", async () => {
    const mine = await lockFolder(folder);
    expect(mine).toBeDefined();
    expect(await lockFolder(folder)).toBeUndefined();
    await mine?.release();
    expect(await readdir(folder)).toEqual([]);
    const next = await lockFolder(folder);
    expect(next).toBeDefined();
    await next?.release();
  });

  it("is free again after its owner was killed", async () => {
    const program = `
      require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"));`;
    const killed = promisify(execFile)(process.execPath, ["-e", program, join(folder, "lock.sock")]);
    await expect(killed).rejects.toMatchObject({ signal: "SIGKILL" });
    expect(await readdir(folder)).toEqual(["lock.sock"]);
    const mine = await lockFolder(folder);
    expect(mine).toBeDefined();
    await mine?.release();
  });

  it("is created if missing, and ignores a stray file", async () => {
    const inner = join(folder, "a", "b");
    await (await lockFolder(inner))?.release();
    await writeFile(join(inner, "lock.sock"), "");
    const mine = await lockFolder(inner);
    expect(mine).toBeDefined();
    await mine?.release();
  });

  it("fails if the lock cannot be created", async () => {
    await writeFile(join(folder, "file"), "");
    await expect(lockFolder(join(folder, "file"))).rejects.toThrow(/EEXIST|ENOTDIR/);
  });

  it("can be locked if its path is longer than a socket address", async () => {
    const long = join(folder, "x".repeat(150));
    const mine = await lockFolder(long);
    expect(mine).toBeDefined();
    expect(await lockFolder(long)).toBeUndefined();
    await mine?.release();
    expect(await readdir(long)).toEqual([]);
  });

  it("removes the files of killed processes, also of one killed before it published its lock", async () => {
    const program = `
      const { createServer } = require("node:net");
      const { once } = require("node:events");
      const servers = ["lock-1.sock", "lock-2.new"].map((name) => createServer().listen(process.argv[1] + "/" + name));
      Promise.all(servers.map((server) => server.listening || once(server, "listening")))
        .then(() => process.kill(process.pid, "SIGKILL"));`;
    await expect(promisify(execFile)(process.execPath, ["-e", program, folder])).rejects.toMatchObject({
      signal: "SIGKILL",
    });
    expect(await readdir(folder)).toHaveLength(2);
    const mine = await lockFolder(folder);
    expect(mine).toBeDefined();
    expect(await readdir(folder)).toHaveLength(1);
    await mine?.release();
  });
});
