import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { isForeground, listenToKeys } from "./keys.ts";

/** Standard input of a terminal, as far as keys are read from it. */
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

describe("keys", () => {
  it("come one by one, without Enter", () => {
    const { input, keys } = keyboard();
    expect([input.raw, input.reading]).toEqual([true, true]);
    input.type("?");
    input.type("xq");
    expect(keys).toEqual(["?", "x", "q"]);
  });

  it("are no arrows and no function keys, whose sequences hold letters", () => {
    const { input, keys } = keyboard();
    input.type("\x1b[A");
    input.type("\x1bOq");
    expect(keys).toEqual([]);
    input.type("\x1b");
    expect(keys).toEqual(["\x1b"]);
  });

  it("leave Ctrl-C and Ctrl-\\ what they are: in raw mode the terminal sends no signal for them", () => {
    const { input, host, keys } = keyboard();
    input.type("\x03");
    input.type("\x03");
    input.type("\x1c");
    expect(host.sent).toEqual(["42 SIGINT", "42 SIGINT", "42 SIGQUIT"]);
    expect(keys).toEqual([]);
  });

  it("leave Ctrl-Z what it is: the terminal is given back, and taken again in the foreground only", () => {
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

  it("are given back at the end, once", () => {
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

  it("of a terminal that is closed meanwhile are nobody's fault", () => {
    const { input, close } = keyboard();
    input.setRawMode = () => {
      throw new Error("setRawMode EIO");
    };
    expect(close).not.toThrow();
    expect(() => input.emit("error", new Error("read EIO"))).not.toThrow();
  });
});

describe("the foreground", () => {
  const stat = (group: number, foreground: number) => `42 (a) b (c) S 1 ${group} 7 34816 ${foreground} 4194304 0`;

  it.each([
    [stat(9, 9), true],
    [stat(9, 8), false],
    ["unreadable", true],
    [undefined, true],
  ])("of %j is %s", (text, expected) => {
    expect(isForeground(text)).toBe(expected);
  });
});
