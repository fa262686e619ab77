import files, { mkdtemp, rm } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../../platform/clock/index.ts";
import { realWork, VirtualClock } from "../../../platform/clock/testing/index.ts";
import { parseConfig } from "../../../platform/config/index.ts";
import { lockFolder } from "../../../platform/lock/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { restoreConfig } from "../config.ts";
import { restore } from "./restore.ts";
import { lockState } from "./state-lock.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "joulie-state-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const log = createLogger({ level: "silent", program: "agent" });
const { signal } = new AbortController();

const restoring = async () => {
  const env = { STATE_DIR: folder, HOST_SYS_ROOT: folder, HOST_PROC_ROOT: folder };
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(restoreConfig, { env, flags: {}, machine, known: [] });
  if (!parsed.ok) throw new Error("the variables are wrong");
  const output: string[] = [];
  const code = await restore(parsed.value.values, (text) => output.push(text));
  return { code, said: output.join("") };
};

describe("the lock of STATE_DIR", () => {
  it("makes `joulie agent restore` refuse while an agent runs", async () => {
    const agent = await lockState(folder, { clock: systemClock, log, signal });
    const refused = await restoring();
    expect(refused.code).toBe(1);
    expect(refused.said).toContain("an agent is running");
    await agent.release();
    const done = await restoring();
    expect(done).toMatchObject({ code: 0, said: expect.stringContaining("nothing to restore") as string });
    expect(await lockFolder(folder).then(async (lock) => lock?.release().then(() => "free"))).toBe("free");
  });

  /** Advances virtual time while real sockets work. */
  const settled = async <Value>(clock: VirtualClock, work: Promise<Value>): Promise<Value> => {
    const state = { over: false };
    void work.catch(() => undefined).finally(() => (state.over = true));
    while (!state.over) {
      await clock.advanceAsync(milliseconds(500));
      await realWork();
    }
    return work;
  };

  it("makes an agent wait for another one that is stopping, and give up on one that keeps running", async () => {
    const first = await lockFolder(folder);
    const clock = new VirtualClock();
    await expect(settled(clock, lockState(folder, { clock, log, signal }))).rejects.toThrow("another agent is running");
    const waiting = lockState(folder, { clock, log, signal });
    await first?.release();
    const lock = await settled(clock, waiting);
    expect(await lockFolder(folder)).toBeUndefined();
    await lock.release();
  });

  it("is retried after a temporary error, and the agent never starts without it", async () => {
    const full = Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    const mkdir = vi.spyOn(files, "mkdir").mockRejectedValue(full);
    syncBuiltinESMExports();
    const clock = new VirtualClock();
    try {
      const { code, said: output } = await restoring();
      expect({ code, said: output }).toEqual({
        code: 1,
        said: expect.stringContaining("cannot be locked: ENOSPC") as string,
      });
      await expect(settled(clock, lockState(folder, { clock, log, signal }))).rejects.toThrow(
        "cannot be locked: ENOSPC",
      );
    } finally {
      mkdir.mockRestore();
      syncBuiltinESMExports();
    }
    const lock = await lockState(folder, { clock, log, signal });
    expect(await lockFolder(folder)).toBeUndefined();
    await lock.release();
  });
});
