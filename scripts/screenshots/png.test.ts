import { crc32, deflateSync, inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { animated, recompressed } from "./png.ts";

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
};

/** An RGB picture without filters. */
function pngOf(width: number, height: number, colorAt: (x: number, y: number) => readonly number[]): Buffer {
  const header = Buffer.from([0, 0, 0, width, 0, 0, 0, height, 8, 2, 0, 0, 0]);
  const rows = Array.from({ length: height }, (_, y) => [
    0,
    ...Array.from({ length: width }, (__, x) => colorAt(x, y)).flat(),
  ]);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.from(rows.flat()))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** The chunks of a file as [type, data]. */
function parts(png: Buffer): [string, Buffer][] {
  const found: [string, Buffer][] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    found.push([png.toString("latin1", at + 4, at + 8), png.subarray(at + 8, at + 8 + length)]);
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(png.subarray(at + 4, at + 8 + length)));
    at += 12 + length;
  }
  return found;
}
const of = (png: Buffer, type: string): Buffer[] => parts(png).flatMap(([name, data]) => (name === type ? [data] : []));

const gradient = pngOf(40, 30, (x, y) => [x * 6, y * 8, (x * y) % 256]);

describe("PNG files", () => {
  it("are the same picture after two rounds of compression", () => {
    const once = recompressed(gradient);
    expect(recompressed(once)).toEqual(once);
    // Filters make the data smaller than the plain rows.
    expect(of(once, "IDAT")[0]?.length).toBeLessThan(of(gradient, "IDAT")[0]?.length ?? 0);
  });

  it("store of later frames only what has changed", () => {
    const next = pngOf(40, 30, (x, y) => (x === 12 && y >= 5 && y <= 6 ? [1, 2, 3] : [x * 6, y * 8, (x * y) % 256]));
    const file = animated([
      { png: gradient, milliseconds: 500 },
      { png: next, milliseconds: 250 },
      { png: next, milliseconds: 100 },
    ]);
    const frames = of(file, "fcTL").map((data) => [
      ...[4, 8, 12, 16].map((at) => data.readUInt32BE(at)),
      data.readUInt16BE(20),
    ]);
    expect(frames).toEqual([
      [40, 30, 0, 0, 500],
      [1, 2, 12, 5, 250],
      [1, 1, 0, 0, 100],
    ]);
    const sequence = parts(file).flatMap(([type, data]) => (/fcTL|fdAT/.test(type) ? data.readUInt32BE(0) : []));
    expect(sequence).toEqual([0, 1, 2, 3, 4]);
    const change = inflateSync(of(file, "fdAT")[0]?.subarray(4) ?? Buffer.alloc(0));
    expect(change.length).toBe(2 * 4);
    expect(() =>
      animated([
        { png: gradient, milliseconds: 1 },
        { png: pngOf(2, 2, () => [0, 0, 0]), milliseconds: 1 },
      ]),
    ).toThrow("differ in size");
  });
});
