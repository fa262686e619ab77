import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../core/units/index.ts";
import { VirtualClock } from "../clock/testing/index.ts";
import type { JournalEntry } from "./entry.ts";
import { type JournalFiles, journalFiles } from "./files.ts";
import { Journal } from "./journal.ts";
import { MemoryFiles } from "./testing/memory-files.ts";

const at = "2030-01-01T00:00:00.000Z";
const entry = (board: string, more: Partial<JournalEntry> = {}): JournalEntry => ({
  backend: "rapl",
  board,
  original: `{"limit":350000000}`,
  limit: watts(350),
  at,
  ...more,
});

async function open(files: JournalFiles, maxEntries?: number) {
  const problems: string[] = [];
  const clock = new VirtualClock();
  const journal = await Journal.open({
    files,
    clock,
    onProblem: (problem) => problems.push(problem),
    ...(maxEntries !== undefined && { maxEntries }),
  });
  return { journal, problems, clock, boards: Array.from(journal.entries(), ({ board }) => board).toSorted() };
}

describe("a journal", () => {
  it("distinguishes boards of two endpoints, and records the boot of an entry", async () => {
    const files = new MemoryFiles();
    const { journal } = await open(files);
    const one = entry("packages", { node: "a", backend: "http", endpoint: "http://one", original: "1" });
    await journal.keep(one);
    await journal.keep({ ...one, endpoint: "http://two", original: "2" });
    await journal.keep(entry("package-0", { boot: "first" }));
    journal.confirm(entry("package-0"), "second");
    journal.confirm(entry("package-1"), "second");
    await journal.flush();
    const { journal: again } = await open(files);
    expect(again.of("a").map(({ original }) => original)).toEqual(["1", "2"]);
    expect(again.get({ ...one, endpoint: "http://two" })?.original).toBe("2");
    expect(again.of()).toEqual([entry("package-0", { boot: "second" })]);
  });

  it("returns stored entries, also after a restart", async () => {
    const files = new MemoryFiles();
    const { journal } = await open(files);
    await journal.keep(entry("package-0"));
    await journal.keep(entry("package-0", { node: "node-a" }));
    const again = await open(files);
    expect(again.journal.size).toBe(2);
    expect(again.journal.get({ backend: "rapl", board: "package-0" })).toEqual(entry("package-0"));
    expect(again.journal.get({ backend: "rapl", board: "package-1" })).toBeUndefined();
    expect(again.problems).toEqual([]);
  });

  it("never overwrites an original with a later value", async () => {
    const { journal } = await open(new MemoryFiles());
    await journal.keep(entry("package-0"));
    await journal.keep(entry("package-0", { original: "ours by now", limit: watts(120) }));
    expect(journal.get(entry("package-0"))?.limit).toBe(350);
  });

  it("is synced, then renamed into place, then the directory is synced", async () => {
    const files = new MemoryFiles();
    await (await open(files)).journal.keep(entry("package-0"));
    expect(files.done).toEqual([
      "write originals.next.json",
      "rename originals.json originals.previous.json",
      "rename originals.next.json originals.json",
      "settle",
    ]);
  });

  it("batches entries that arrive during a write into one write", async () => {
    const files = new MemoryFiles();
    const { journal } = await open(files);
    await Promise.all(Array.from({ length: 100 }, async (_, index) => journal.keep(entry(`board-${index}`))));
    expect(files.done.filter((what) => what.startsWith("write"))).toHaveLength(2);
    expect((await open(files)).journal.size).toBe(100);
  });

  it("writes notes and removals with a delay", async () => {
    const files = new MemoryFiles();
    const { journal, clock } = await open(files);
    await journal.keep(entry("node", { backend: "dvfs" }));
    await journal.keep(entry("package-0"));
    const before = files.done.length;
    journal.note({ backend: "dvfs", board: "node" }, 40);
    journal.note({ backend: "dvfs", board: "nowhere" }, 40);
    journal.drop(entry("package-0"));
    expect(files.done.length).toBe(before);
    await clock.advanceAsync(milliseconds(2000));
    expect(files.done.length).toBe(before + 4);
    const again = await open(files);
    expect(again.boards).toEqual(["node"]);
    expect(again.journal.get({ backend: "dvfs", board: "node" })?.ours).toBe(40);
  });

  it("writes pending notes before it closes", async () => {
    const files = new MemoryFiles();
    const { journal } = await open(files);
    await journal.keep(entry("package-0"));
    journal.drop(entry("package-0"));
    await journal.flush();
    await journal.flush();
    expect((await open(files)).boards).toEqual([]);
  });

  it("reports where and why a write failed and does not store the entry", async () => {
    const files = new MemoryFiles();
    const { journal } = await open(files);
    files.refusal = new Error("EROFS: read-only file system");
    await expect(journal.keep(entry("package-0"))).rejects.toThrow(
      "cannot store the original limit in /state: EROFS: read-only file system",
    );
    expect(journal.size).toBe(0);
    files.refusal = undefined;
    await journal.keep(entry("package-0"));
    expect((await open(files)).boards).toEqual(["package-0"]);
  });

  it("is bounded", async () => {
    const { journal } = await open(new MemoryFiles(), 2);
    await journal.keep(entry("a"));
    await journal.keep(entry("b"));
    await expect(journal.keep(entry("c"))).rejects.toThrow("is full");
  });

  it("does not touch the file of a newer Joulie version, and reports it", async () => {
    const files = new MemoryFiles();
    await (await open(files)).journal.keep(entry("package-0"));
    const { createHash } = await import("node:crypto");
    const body = { about: "", version: 2, generation: 9, entries: ["something else"] };
    const checksum = createHash("sha256").update(JSON.stringify(body)).digest("hex");
    const newer = JSON.stringify({ ...body, checksum });
    files.files.set("originals.json", newer);
    files.files.delete("originals.previous.json");
    const { journal, problems } = await open(files);
    expect(problems[0]).toContain("version 2");
    await expect(journal.keep(entry("package-1"))).rejects.toThrow("version 2");
    expect(files.files.get("originals.json")).toBe(newer);
  });
});

describe("a journal after a power cut", () => {
  it("loses no confirmed entry, whichever file operation is interrupted", async () => {
    const run = async (files: MemoryFiles): Promise<string[]> => {
      const promised: string[] = [];
      const { journal } = await open(files);
      for (const board of ["a", "b", "c"]) {
        await journal.keep(entry(board));
        promised.push(board);
      }
      return promised;
    };
    const whole = new MemoryFiles();
    await run(whole);
    expect(whole.done).toHaveLength(12);
    for (const tornAt of [0, 10, 200, Infinity]) {
      for (let cut = 0; cut < whole.done.length; cut++) {
        const files = new MemoryFiles();
        files.operationsLeft = cut;
        files.tornAt = tornAt;
        await expect(run(files)).rejects.toThrow("the power was cut");
        files.operationsLeft = Infinity;
        const { boards, journal } = await open(files);
        expect(boards).toEqual(expect.arrayContaining(["a", "b", "c"].slice(0, Math.floor(cut / 4))));
        expect(journal.size).toBeLessThanOrEqual(Math.floor(cut / 4) + 1);
        // The journal accepts new entries afterwards.
        await journal.keep(entry("d"));
        expect((await open(files)).boards).toEqual([...boards, "d"]);
      }
    }
  });

  it("detects any damage to the newest file and uses the previous one", async () => {
    const files = new MemoryFiles();
    const { journal } = await open(files);
    await journal.keep(entry("a"));
    await journal.keep(entry("b"));
    const good = files.files.get("originals.json") ?? "";
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.nat(255), fc.boolean(), async (place, byte, cut) => {
        const damaged = cut
          ? good.slice(0, place)
          : good.slice(0, place) + String.fromCharCode(byte) + good.slice(place + 1);
        const sane = (() => {
          try {
            return JSON.stringify(JSON.parse(damaged)) === JSON.stringify(JSON.parse(good));
          } catch {
            return false;
          }
        })();
        files.files.set("originals.json", damaged);
        files.files.delete("originals.damaged.json");
        const { boards, problems } = await open(files);
        expect(boards).toEqual(sane ? ["a", "b"] : ["a"]);
        expect(problems).toHaveLength(sane ? 0 : 1);
      }),
    );
  });

  it("sets a damaged file aside and accepts no new original until it is removed", async () => {
    const files = new MemoryFiles();
    files.files.set("originals.json", "\0\0\0");
    for (const _ of ["this start", "the next"]) {
      const { journal, problems } = await open(files);
      expect(problems.at(-1)).toMatch(
        /cannot be used.*Joulie changes no other limit until.*removed originals.damaged.json/,
      );
      await expect(journal.keep(entry("a"))).rejects.toThrow("originals.damaged.json");
      expect(journal.size).toBe(0);
    }
    expect(files.files.get("originals.damaged.json")).toBe("\0\0\0");
    files.files.delete("originals.damaged.json");
    await (await open(files)).journal.keep(entry("a"));
    expect((await open(files)).boards).toEqual(["a"]);
  });

  it("knows that the previous file lacks the last entries: restores its entries and accepts no new originals", async () => {
    const files = new MemoryFiles();
    const first = await open(files);
    await first.journal.keep(entry("a"));
    await first.journal.keep(entry("b"));
    files.files.set("originals.json", "");
    const { journal, boards } = await open(files);
    expect(boards).toEqual(["a"]);
    await journal.keep(entry("a", { original: "ours by now" }));
    expect(journal.get(entry("a"))?.original).toBe(entry("a").original);
    await expect(journal.keep(entry("b", { original: "ours by now" }))).rejects.toThrow("originals.damaged.json");
    journal.drop(entry("a"));
    await journal.flush();
    const after = await open(files);
    expect(after.boards).toEqual([]);
    await expect(after.journal.keep(entry("b"))).rejects.toThrow("originals.damaged.json");
  });

  it("eventually stores every entry in both files, so that either may be lost", async () => {
    const files = new MemoryFiles();
    const { journal, clock } = await open(files);
    await journal.keep(entry("a"));
    await journal.keep(entry("b"));
    await clock.advanceAsync(milliseconds(2000));
    files.files.set("originals.json", "");
    expect((await open(files)).boards).toEqual(["a", "b"]);
  });

  it("loses no entry if the pending file is intact", async () => {
    const files = new MemoryFiles();
    const first = await open(files);
    await first.journal.keep(entry("a"));
    const before = files.files.get("originals.json") ?? "";
    await first.journal.keep(entry("b"));
    files.files.set("originals.next.json", files.files.get("originals.json") ?? "");
    files.files.set("originals.json", before.slice(9));
    const { journal, boards } = await open(files);
    expect(boards).toEqual(["a", "b"]);
    await journal.keep(entry("c"));
    expect((await open(files)).boards).toEqual(["a", "b", "c"]);
  });
});

describe("on a real disk", () => {
  it("creates its directory for root only, and writes human-readable files", async () => {
    const root = await mkdtemp(join(tmpdir(), "joulie-journal-"));
    const directory = join(root, "deep", "state");
    const { journal } = await open(journalFiles(directory));
    await journal.keep(entry("package-0"));
    await journal.keep(entry("package-1"));
    expect((await readdir(directory)).toSorted()).toEqual(["originals.json", "originals.previous.json"]);
    const text = await readFile(join(directory, "originals.json"), "utf8");
    expect(text).toContain('"board": "package-1"');
    expect((await stat(join(directory, "originals.json"))).mode & 0o777).toBe(0o600);
    expect((await open(journalFiles(directory))).boards).toEqual(["package-0", "package-1"]);
    await rm(root, { recursive: true });
  });

  it("reports a directory that cannot be created at the first write", async () => {
    const { journal } = await open(journalFiles("/dev/null/state"));
    await expect(journal.keep(entry("package-0"))).rejects.toThrow(
      "cannot store the original limit in /dev/null/state",
    );
  });
});
