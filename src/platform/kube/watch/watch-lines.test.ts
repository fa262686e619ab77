import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linesOf, textOfBody } from "./watch-lines.ts";

async function* chunked(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array, void, undefined> {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  let from = 0;
  for (const place of [...places, bytes.length]) {
    yield bytes.subarray(from, place);
    from = place;
  }
}

async function collect(body: AsyncIterable<Uint8Array>, longest?: number): Promise<string[]> {
  const all: string[] = [];
  for await (const lines of linesOf(body, longest === undefined ? {} : { longest })) all.push(...lines);
  return all;
}

describe("linesOf", () => {
  it("yields the same lines for any chunking, also within multi-byte characters", async () => {
    const line = fc.string({ unit: "binary", maxLength: 30 }).map((text) => text.toWellFormed().replaceAll("\n", " "));
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 1, maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        async (lines, cuts) => {
          const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
          expect(await collect(chunked(bytes, cuts))).toEqual(lines);
        },
      ),
    );
  });

  it("yields complete lines before it reports that the last one was truncated", async () => {
    const seen: string[] = [];
    const reading = (async () => {
      for await (const lines of linesOf(chunked(Buffer.from("one\ntwo\nthr"), [5]))) seen.push(...lines);
    })();
    await expect(reading).rejects.toMatchObject({ kind: "garbled" });
    expect(seen).toEqual(["one", "two"]);
  });

  it("handles lines longer than its buffer, and short ones after them", async () => {
    const lines = [3, 300_000, 5, 3_000_000, 7, 140_000, 0, 9].map((length, index) => String(index).repeat(length));
    const bytes = Buffer.from(`${lines.join("\n")}\n`);
    const cuts = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, index) => index * 65_536);
    for (const lean of [false, true]) {
      const all: string[] = [];
      for await (const some of linesOf(chunked(bytes, cuts), { lean })) all.push(...some);
      expect(all.map((line) => `${line[0]}*${line.length}`)).toEqual(lines.map((line) => `${line[0]}*${line.length}`));
    }
  });

  it("does not modify the received chunks", async () => {
    const bytes = Buffer.from('{"managedFields":[1],"a":2}\n{"b":');
    const before = bytes.toString();
    const lines = linesOf(chunked(bytes, []), { lean: true });
    expect((await lines.next()).value).toEqual(['{"managedFields":[],"a":2}']);
    expect(bytes.toString()).toBe(before);
  });

  it("yields nothing for an empty stream", async () => {
    expect(await collect(chunked(Buffer.alloc(0), []))).toEqual([]);
  });

  it("limits the length of a line", async () => {
    await expect(collect(chunked(Buffer.alloc(100, 97), [30, 60, 90]), 50)).rejects.toMatchObject({ kind: "garbled" });
  });
});

describe("textOfBody", () => {
  it("returns the whole text up to its limit", async () => {
    const bytes = Buffer.from("zäöü€".repeat(10));
    expect(await textOfBody(chunked(bytes, [1, 2, 3, 7, 11]), bytes.length)).toBe(bytes.toString());
    expect(await textOfBody(chunked(Buffer.alloc(0), []), 0)).toBe("");
    await expect(textOfBody(chunked(bytes, [1]), bytes.length - 1)).rejects.toMatchObject({ kind: "tooLarge" });
  });
});
