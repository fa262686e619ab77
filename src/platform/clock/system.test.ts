import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { systemClock } from "./system.ts";

const DAY = 86_400_000;

/** Fake Node.js timers; like the real ones, they shorten a timeout over 2^31-1 ms to 1 ms. */
describe("systemClock over days", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("chains timeouts to wait longer than one timeout can", () => {
    const called = vi.fn<() => void>();
    systemClock.after(milliseconds(60 * DAY), called);
    vi.advanceTimersByTime(60 * DAY - 1);
    expect(called).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(called).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("cancels in the middle of a chain", () => {
    const called = vi.fn<() => void>();
    const timer = systemClock.after(milliseconds(60 * DAY), called);
    vi.advanceTimersByTime(40 * DAY);
    timer.cancel();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(40 * DAY);
    expect(called).not.toHaveBeenCalled();
  });

  it("never ends an infinite wait", () => {
    const called = vi.fn<() => void>();
    systemClock.after(milliseconds(Infinity), called);
    vi.advanceTimersByTime(400 * DAY);
    expect(called).not.toHaveBeenCalled();
  });

  it("leaves no timer behind an aborted sleep", async () => {
    const abort = new AbortController();
    const sleep = systemClock.sleep(milliseconds(DAY), abort.signal);
    expect(vi.getTimerCount()).toBe(1);
    abort.abort();
    await expect(sleep).rejects.toThrow("aborted");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("returns wall-clock time, and measures durations independently of it", () => {
    const start = systemClock.monotonic();
    vi.setSystemTime(1_700_000_000_000);
    expect(systemClock.now()).toBe(1_700_000_000_000);
    expect(systemClock.monotonic()).toBe(start);
  });
});

describe("systemClock and the end of the process", () => {
  it("lets the process exit while only a background timer is pending", () => {
    const holding = () => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
    const before = holding();
    const background = systemClock.after(milliseconds(DAY), () => undefined, { background: true });
    expect(holding()).toBe(before);
    const foreground = systemClock.after(milliseconds(DAY), () => undefined);
    expect(holding()).toBe(before + 1);
    foreground.cancel();
    background.cancel();
    expect(holding()).toBe(before);
  });
});
