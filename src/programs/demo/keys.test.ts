import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { isForeground, listenToKeys } from "./keys.ts";

/** Fake terminal input. */
class Input extends EventEmitter {
  isTTY = true;
  raw = false;
  reading = false;
  setRawMode(on: boolean): void {
    this.raw = on;
  }
  resume(): void {
    this.reading = true;
  }
  pause(): void {
    this.reading = false;
  }
  type(text: string): void {
    this.emit("data", Buffer.from(text));
  }
}

class Host extends EventEmitter {
  readonly pid = 42;
  readonly sent: string[] = [];
  foreground = true;
  kill(pid: number, signal: string): void {
    this.sent.push(`${pid} ${signal}`);
  }
}

function keyboard() {
  const [input, host, keys] = [new Input(), new Host(), [] as string[]];
  const close = listenToKeys({ input, host, isForeground: () => host.foreground, onKey: (key) => keys.push(key) });
  return { input, host, keys, close };
}

describe("listenToKeys", () => {
  it("delivers keys one by one, without Enter", () => {
    const { input, keys } = keyboard();
    expect([input.raw, input.reading]).toEqual([true, true]);
    input.type("?");
    input.type("xq");
    expect(keys).toEqual(["?", "x", "q"]);
  });

  it("ignores arrow and function keys, whose sequences contain letters", () => {
    const { input, keys } = keyboard();
    input.type("\x1b[A");
    input.type("\x1bOq");
    expect(keys).toEqual([]);
    input.type("\x1b");
    expect(keys).toEqual(["\x1b"]);
  });

  it("raises the signals of Ctrl-C and Ctrl-\\ itself: in raw mode the terminal does not", () => {
    const { input, host, keys } = keyboard();
    input.type("\x03");
    input.type("\x03");
    input.type("\x1c");
    expect(host.sent).toEqual(["42 SIGINT", "42 SIGINT", "42 SIGQUIT"]);
    expect(keys).toEqual([]);
  });

  it("restores the terminal on Ctrl-Z and takes it again only in the foreground", () => {
    const { input, host } = keyboard();
    input.type("\x1a");
    expect(host.sent).toEqual(["0 SIGTSTP"]);
    expect([input.raw, input.reading]).toEqual([false, false]);
    host.foreground = false;
    host.emit("SIGCONT");
    expect([input.raw, input.reading]).toEqual([false, false]);
    host.foreground = true;
    host.emit("SIGCONT");
    expect([input.raw, input.reading]).toEqual([true, true]);
  });

  it("restores the terminal once at the end", () => {
    const { input, host, keys, close } = keyboard();
    close();
    close();
    expect([input.raw, input.reading]).toEqual([false, false]);
    input.type("q");
    host.emit("SIGCONT");
    expect(keys).toEqual([]);
    expect([input.raw, input.reading, input.listenerCount("data"), host.listenerCount("SIGCONT")]).toEqual([
      false,
      false,
      0,
      0,
    ]);
  });

  it("tolerates a terminal that is closed while listening", () => {
    const { input, close } = keyboard();
    input.setRawMode = () => {
      throw new Error("setRawMode EIO");
    };
    expect(close).not.toThrow();
    expect(() => input.emit("error", new Error("read EIO"))).not.toThrow();
  });
});

describe("isForeground", () => {
  const stat = (group: number, foreground: number) => `42 (a) b (c) S 1 ${group} 7 34816 ${foreground} 4194304 0`;

  it.each([
    [stat(9, 9), true],
    [stat(9, 8), false],
    ["unreadable", true],
    [undefined, true],
  ])("returns for %j: %s", (text, expected) => {
    expect(isForeground(text)).toBe(expected);
  });
});
