import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { createLogger } from "../log/index.ts";
import { type SignalledProcess, untilStopped } from "./index.ts";

class FakeProcess extends EventEmitter implements SignalledProcess {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

const log = createLogger({ level: "silent", program: "test" });

describe("untilStopped", () => {
  it.each(["SIGTERM", "SIGINT", "SIGHUP"])("%s aborts with a reason that names it, and does not exit", (signal) => {
    const process = new FakeProcess();
    const until = untilStopped(process, log);
    expect(until.signal.aborted).toBe(false);
    process.emit(signal, signal);
    expect(until.signal.reason).toEqual(new Error(`stopped by ${signal}`));
    expect(process.exits).toEqual([]);
  });

  it.each([
    ["SIGTERM", "SIGTERM", 143],
    ["SIGTERM", "SIGINT", 130],
    ["SIGINT", "SIGINT", 130],
    ["SIGHUP", "SIGTERM", 143],
  ])("%s, then %s, exits at once with %d", (first, second, code) => {
    const process = new FakeProcess();
    untilStopped(process, log);
    process.emit(first, first);
    process.emit(second, second);
    expect(process.exits).toEqual([code]);
  });

  it.each(["SIGINT", "SIGHUP"])("continues the shutdown after %s, then SIGHUP", (first) => {
    const process = new FakeProcess();
    untilStopped(process, log);
    process.emit(first, first);
    process.emit("SIGHUP", "SIGHUP");
    expect(process.exits).toEqual([]);
  });

  it("ignores signals after release and leaves no listener", () => {
    const process = new FakeProcess();
    const until = untilStopped(process, log);
    until.release();
    process.emit("SIGTERM", "SIGTERM");
    expect(until.signal.aborted).toBe(false);
    expect(process.eventNames()).toEqual([]);
  });

  it("works with the real process", () => {
    const before = process.listenerCount("SIGTERM");
    const until = untilStopped(process, log);
    expect(process.listenerCount("SIGTERM")).toBe(before + 1);
    until.release();
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });
});
