import { describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../core/units/index.ts";
import { VirtualClock } from "../clock/testing/index.ts";
import type { JournalEntry } from "./entry.ts";
import { Journal } from "./journal.ts";
import { MemoryFiles } from "./testing/memory-files.ts";

const entry = (board: string, more: Partial<JournalEntry> = {}): JournalEntry => ({
  backend: "rapl",
  board,
  original: "350",
  limit: watts(350),
  at: "2030-01-01T00:00:00.000Z",
  ...more,
});

const failing = (code: string): Error => Object.assign(new Error(`${code}: the disk fails`), { code });

async function open(files: MemoryFiles, clock = new VirtualClock()) {
  const problems: string[] = [];
  const opening = Journal.open({ files, clock, onProblem: (problem) => problems.push(problem) });
  const end = { reached: false };
  void opening.finally(() => (end.reached = true));
  for (let turn = 0; turn < 100 && !end.reached; turn++) await clock.advanceAsync(milliseconds(100));
  const journal = await opening;
  const boards = () => Array.from(journal.entries(), ({ board }) => board).toSorted();
  return { journal, problems, clock, boards };
}

async function filesWith(...boards: readonly string[]): Promise<MemoryFiles> {
  const files = new MemoryFiles();
  const { journal } = await open(files);
  for (const board of boards) await journal.keep(entry(board));
  await journal.flush();
  return files;
}

describe("a journal on a disk that fails temporarily", () => {
  it.each(["EIO", "EMFILE"])("%s: retries the read and finds every entry", async (code) => {
    const files = await filesWith("a", "b");
    files.readFault = { error: failing(code), times: 5 };
    const { boards, problems, journal } = await open(files);
    expect(boards()).toEqual(["a", "b"]);
    expect(problems).toEqual([]);
    expect(journal.problem).toBeUndefined();
    expect([...files.files.keys()]).not.toContain("originals.damaged.json");
  });

  it("keeps an unreadable file, accepts no new entries, and continues once the file is readable", async () => {
    const files = await filesWith("a", "b");
    const before = new Map(files.files);
    files.readFault = { error: failing("EIO"), times: Infinity };
    const { boards, problems, journal, clock } = await open(files);
    expect(boards()).toEqual([]);
    expect(problems).toHaveLength(1);
    expect(journal.problem).toMatch(/\/state\/originals.json cannot be read: EIO.*Joulie leaves it unchanged/);
    await expect(journal.keep(entry("c"))).rejects.toThrow("/state/originals.json cannot be read: EIO");
    await journal.flush();
    expect(files.files).toEqual(before);
    files.readFault = undefined;
    await clock.advanceAsync(milliseconds(30_000));
    expect(boards()).toEqual(["a", "b"]);
    expect(journal.problem).toBeUndefined();
    await journal.keep(entry("c"));
    expect((await open(files)).boards()).toEqual(["a", "b", "c"]);
  });

  it("retries a failed write of removals and reports the failure once", async () => {
    const files = await filesWith("a");
    const { journal, problems, clock } = await open(files);
    journal.drop(entry("a"));
    files.refusal = failing("ENOSPC");
    await clock.advanceAsync(milliseconds(120_000));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("ENOSPC");
    expect((await open(files)).boards()).toEqual(["a"]);
    files.refusal = undefined;
    await clock.advanceAsync(milliseconds(120_000));
    expect((await open(files)).boards()).toEqual([]);
    expect(problems).toHaveLength(1);
  });

  it("retries before it closes, and reports whether every entry is on disk", async () => {
    const files = await filesWith("a");
    const { journal, clock } = await open(files);
    const flushed = async (): Promise<boolean> => {
      const flushing = journal.flush();
      await clock.advanceAsync(milliseconds(5000));
      return flushing;
    };
    files.refusal = failing("ENOSPC");
    journal.drop(entry("a"));
    expect(await flushed()).toBe(false);
    expect((await open(files)).boards()).toEqual(["a"]);
    const flushing = flushed();
    files.refusal = undefined;
    expect(await flushing).toBe(true);
    expect((await open(files)).boards()).toEqual([]);
  });
});

describe("a journal that closes during a write", () => {
  it("retries that write if it fails", async () => {
    const files = await filesWith("a");
    const { journal, clock } = await open(files);
    const disk = Promise.withResolvers<void>();
    const write = files.write.bind(files);
    files.write = async () => disk.promise;
    journal.drop(entry("a"));
    await clock.advanceAsync(milliseconds(3000));
    const flushing = journal.flush();
    files.write = write;
    disk.reject(failing("ENOSPC"));
    await clock.advanceAsync(milliseconds(5000));
    expect(await flushing).toBe(true);
    expect((await open(files)).boards()).toEqual([]);
  });
});

describe("the limits of a journal", () => {
  it("reads back the original of a machine with a thousand cpufreq policies", async () => {
    const files = new MemoryFiles();
    const original = JSON.stringify(Array.from({ length: 4096 }, (_, cpu) => [cpu, 3_800_000, 800_000]));
    expect(original.length).toBeGreaterThan(65_536);
    const { journal } = await open(files);
    await journal.keep(entry("node", { backend: "dvfs", original }));
    const again = await open(files);
    expect(again.journal.get(entry("node", { backend: "dvfs" }))?.original).toBe(original);
    expect(again.problems).toEqual([]);
  });

  it("rejects an entry that it could not read again", async () => {
    const files = await filesWith("a");
    const { journal } = await open(files);
    await expect(journal.keep(entry("b", { original: "x".repeat(2 ** 20 + 1) }))).rejects.toThrow(/original/);
    await expect(journal.keep(entry("c".repeat(513)))).rejects.toThrow(/board/);
    expect((await open(files)).boards()).toEqual(["a"]);
  });
});
