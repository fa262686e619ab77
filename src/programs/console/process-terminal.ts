import process from "node:process";
import type { Terminal } from "./top.ts";

/** The terminal of this process. Pasted keys arrive together and are taken apart. */
export const processTerminal: Terminal = {
  size: () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
  write: (text) => process.stdout.write(text),
  onKey: (listener) => {
    const { stdin } = process;
    const onData = (chunk: Buffer) => {
      for (const key of keysIn(chunk.toString("utf8"))) listener(key);
    };
    const isRaw = stdin.isTTY;
    if (isRaw) stdin.setRawMode(true);
    stdin.on("data", onData);
    stdin.resume();
    return () => {
      stdin.off("data", onData);
      if (isRaw) stdin.setRawMode(false);
      stdin.pause();
    };
  },
};

const ESCAPE = String.fromCharCode(27);
const KEY = new RegExp(`${ESCAPE}(?:\\[[0-9;]*[A-Za-z~]|O[A-Z])?|[\\s\\S]`, "g");

/** Escape sequences are one key; everything else is one key per character. */
export const keysIn = (text: string): readonly string[] => text.match(KEY) ?? [];
