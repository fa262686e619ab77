import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { openTrace, readTrace } from "./read.ts";

const HEADER = "submitSec,cores,gpus,performance,cpuUtil,gpuUtil,durationSec";

async function* inPieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

const read = async (text: string, size = 7) => readTrace(inPieces(text, size));

async function problemOf(text: string): Promise<string> {
  const result = await read(text);
  return result.ok ? "it was read" : result.error;
}

describe("readTrace", () => {
  it("reads columns by name in any order, ignores other columns, and handles any chunk boundaries", async () => {
    const text =
      "note,durationSec,cores,gpus,performance,cpuUtil,gpuUtil,submitSec\r\nx,60.5,4,2,1,0.25,0.5,3\r\n\r\ny,7,1,0,0,1,0,3";
    for (const size of [1, 3, 1000]) {
      const result = await read(text, size);
      if (!result.ok) throw new Error(result.error);
      const { length, submitSec, cores, gpus, performance, cpuUtil, gpuUtil, durationSec } = result.value;
      expect(length).toBe(2);
      expect([submitSec, cores, gpus, performance, cpuUtil, gpuUtil, durationSec].map((column) => [...column])).toEqual(
        [
          [3, 3],
          [4, 1],
          [2, 0],
          [1, 0],
          [0.25, 1],
          [0.5, 0],
          [60.5, 7],
        ],
      );
    }
  });

  it.each([
    ["", "it is empty; expected a header line with submitSec,"],
    [`${HEADER}\n`, "it has a header and no jobs; expected a line for each job below the header"],
    [`${HEADER}\n\n  \n`, "it has a header and no jobs"],
    ["a,b\n", "line 1: the header has no submitSec, cores, gpus, performance, cpuUtil, gpuUtil, durationSec; expected"],
    [`${HEADER}\n1,2,3\n`, "line 2: 3 columns where the header has 7"],
    [`${HEADER}\n0,4,0,0,0.5,0,60\n0,x,0,0,0.5,0,60\n`, 'line 3: cores is "x"; expected cores, 0 to 100000'],
    [`${HEADER}\n0,NaN,0,0,0.5,0,60\n`, 'line 2: cores is "NaN"'],
    [`${HEADER}\n0,1e308,0,0,0.5,0,60\n`, 'line 2: cores is "1e308"'],
    [
      `${HEADER}\n1e300,4,0,0,0.5,0,60\n`,
      'line 2: submitSec is "1e300"; expected seconds from the start, 0 to 36000000',
    ],
    [`${HEADER}\n0,4,0.5,0,0.5,0,60\n`, 'line 2: gpus is "0.5"; expected whole GPUs'],
    [`${HEADER}\n0,4,0,2,0.5,0,60\n`, 'line 2: performance is "2"; expected 1 (performance) or 0 (standard)'],
    [`${HEADER}\n0,4,0,0,1.5,0,60\n`, 'line 2: cpuUtil is "1.5"; expected a share from 0 to 1'],
    [`${HEADER}\n0,4,0,0,,0,60\n`, 'line 2: cpuUtil is ""'],
    [`${HEADER}\n0,4,0,0,0.5,0,-1\n`, 'line 2: durationSec is "-1"; expected seconds'],
    [`${HEADER}\n5,4,0,0,0.5,0,60\n4,4,0,0,0.5,0,60\n`, "line 3: submitSec 4 is before 5 of an earlier job; sort"],
    [`${HEADER}\n${"9".repeat(5000)}`, "line 2: longer than 4096 characters"],
  ])("names the line and the problem: %j", async (text, problem) => {
    expect(await problemOf(text)).toContain(problem);
  });

  it("stops at its limit and never throws", async () => {
    const many = `${HEADER}\n${"0,4,0,0,0.5,0,60\n".repeat(3)}`;
    expect(await readTrace(inPieces(many, 50), { maxJobs: 2 })).toEqual({
      ok: false,
      error: "line 4: more than 2 jobs",
    });
    const blank = await readTrace(inPieces(`${HEADER}\n${"\n".repeat(1000)}`, 50), { maxJobs: 2 });
    expect(blank).toEqual({ ok: false, error: "line 7: more lines than a trace can have" });
    await fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        const result = await read(`${HEADER}\n${text}`);
        expect(result.ok || /^(line |it has a header and no jobs)/.test(result.error)).toBe(true);
      }),
    );
  });
});

describe("openTrace", () => {
  const folder = mkdtempSync(join(tmpdir(), "joulie-trace-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = (name: string, content: string | Buffer): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const text = `${HEADER}\n0,4,0,0,0.5,0,60\n`;

  it("detects plain and compressed files by content", async () => {
    for (const path of [file("a.csv", text), file("b.csv.gz", gzipSync(text)), file("c", gzipSync(text))]) {
      const result = await openTrace(path);
      expect(result.ok && result.value.length).toBe(1);
    }
  });

  it("names the unreadable file and the position of the error", async () => {
    const missing = await openTrace(join(folder, "none.csv"));
    expect(missing.ok ? "" : missing.error).toContain("none.csv cannot be read: ENOENT");
    const cut = await openTrace(file("cut.gz", gzipSync(text).subarray(0, 30)));
    expect(cut.ok ? "" : cut.error).toContain("cut.gz cannot be read: unexpected end of file");
    const directory = await openTrace(folder);
    expect(directory.ok ? "" : directory.error).toContain("cannot be read: EISDIR");
    const wrong = await openTrace(file("wrong.gz", gzipSync(`${HEADER}\nx\n${"0,4,0,0,0.5,0,60\n".repeat(100_000)}`)));
    expect(wrong.ok ? "" : wrong.error).toMatch(/wrong\.gz: line 2: 1 columns where the header has 7$/);
  });
});
