import { open, readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { eventually, eventuallyPasses, realWork } from "./eventually.ts";
import { VirtualClock } from "./virtual.ts";

describe("waiting for a condition", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
  afterEach(() => void vi.useRealTimers());

  it("X-171 returns the first value that is not undefined, null or false", async () => {
    const values = [undefined, null, false, 0];
    const waited = eventually(() => values.shift());
    await vi.advanceTimersByTimeAsync(1000);
    expect(await waited).toBe(0);
  });

  it("returns the result of the first check that passes", async () => {
    let checks = 0;
    const waited = eventuallyPasses(() => {
      checks += 1;
      expect(checks).toBe(3);
      return "passed";
    });
    await vi.advanceTimersByTimeAsync(1000);
    expect(await waited).toBe("passed");
  });

  it.each([
    [
      "what it awaited and the last value",
      eventually,
      () => [1].includes(2),
      /^not within 180 s: .*\[1\].*; it last returned false$/,
    ],
    [
      "what it awaited and the last failure",
      eventuallyPasses,
      () => expect(1).toBe(2),
      /^not within 180 s: .*; it last failed with: expected 1 to be 2/,
    ],
  ])(
    "X-171 ends after three minutes and says %s",
    async (_, wait: (look: () => unknown) => Promise<unknown>, look, message) => {
      const ended = wait(look).catch((error: Error) => error.message);
      await vi.advanceTimersByTimeAsync(179_000);
      expect(await Promise.race([ended, Promise.resolve("waits")])).toBe("waits");
      await vi.advanceTimersByTimeAsync(1500);
      expect(await ended).toMatch(message);
    },
  );

  it("advances a virtual clock between two looks", async () => {
    vi.useRealTimers();
    const clock = new VirtualClock();
    const between = async () => clock.advanceAsync(milliseconds(1000));
    expect(await eventually(() => clock.monotonic() >= 5000 && clock.monotonic(), { between })).toBe(5000);
  });

  it("lets the files that a program reads be read before virtual time goes on", async () => {
    vi.useRealTimers();
    let read = "";
    void readFile(import.meta.filename, "utf8").then((text) => (read = text));
    await realWork();
    expect(read).toContain("realWork");
  });

  it("lets files be closed before virtual time goes on", async () => {
    vi.useRealTimers();
    const files = await Promise.all(Array.from({ length: 500 }, async () => open(import.meta.filename)));
    let closed = 0;
    for (const file of files) void file.close().then(() => (closed += 1));
    await realWork();
    expect(closed).toBe(files.length);
  });

  it("refuses a bound below three minutes, which a busy machine would miss", async () => {
    await expect(eventually(() => true, { boundMs: 10_000 })).rejects.toThrow(RangeError);
  });

  it("ends at once when the look itself fails", async () => {
    await expect(eventually(async () => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
  });
});
