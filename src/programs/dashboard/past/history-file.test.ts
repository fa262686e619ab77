import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLogger } from "../../../platform/log/index.ts";
import { HistoryFile } from "./history-file.ts";

let folder: string;
let lines: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "joulie-history-"));
  lines = [];
});
afterEach(async () => rm(folder, { recursive: true }));

const fileAt = (path: string) => {
  const destination = { write: (line: string) => void lines.push(line) };
  return new HistoryFile(path, createLogger({ level: "info", format: "json", program: "test", destination }));
};
const energy = { version: 2, from: 0, to: 5000, covered: 5, time: 10, nodes: { a: [1, 2, 3, 4, 5, 6, 7, 8] } } as const;
const history = {
  series: ["power"],
  tiers: [
    {
      step: 10_000,
      buckets: [
        [1, 2.5],
        [2, null],
      ],
    },
  ],
};

describe("the history file", () => {
  it("DSH-05 contains what was saved, and is absent without a warning", async () => {
    const file = fileAt(join(folder, "new", "history.json"));
    expect([await file.load(), lines]).toEqual([undefined, []]);
    const hours = { version: 2, hours: [energy] } as const;
    await file.save(() => ({ history, energy, hours }));
    expect(await file.load()).toEqual({ history, energy, hours });
  });

  it("DSH-05 reads the history of a file without an account, and beside a damaged one", async () => {
    const path = join(folder, "history.json");
    await writeFile(path, JSON.stringify(history));
    expect([await fileAt(path).load(), lines]).toEqual([{ history, energy: undefined }, []]);
    await writeFile(path, JSON.stringify({ ...history, energy: { ...energy, version: 1 } }));
    expect(await fileAt(path).load()).toEqual({ history, energy: undefined });
    expect(lines.join("")).toContain("cannot read the energy account");
  });

  it("DSH-05 starts with an empty history and a warning if the file is damaged", async () => {
    const path = join(folder, "history.json");
    for (const text of ["", '{"series":["power"],"tiers":[{', "[]"]) {
      await writeFile(path, text);
      expect(await fileAt(path).load()).toBeUndefined();
    }
    expect(lines).toHaveLength(3);
  });

  it("DSH-05 reads a file that never ends only up to its limit", async () => {
    expect(await fileAt("/dev/zero").load()).toBeUndefined();
    expect(lines.join("")).toContain("more than 8388608 bytes");
  });
});
