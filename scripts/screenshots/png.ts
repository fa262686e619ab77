// Reads and writes the chunks of PNG files: smaller files, and animations from single frames.
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

function chunksOf(png: Buffer): Chunk[] {
  if (!png.subarray(0, 8).equals(SIGNATURE)) throw new Error("this is not a PNG file");
  const chunks: Chunk[] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({ type: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  return chunks;
}

function bytesOf({ type, data }: Chunk): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

const fileOf = (chunks: readonly Chunk[]): Buffer => Buffer.concat([SIGNATURE, ...chunks.map(bytesOf)]);

/** The pixels, compressed as well as zlib can: browsers prefer speed. */
const pixelsOf = (chunks: readonly Chunk[]): Buffer =>
  deflateSync(inflateSync(Buffer.concat(chunks.filter(({ type }) => type === "IDAT").map(({ data }) => data))), {
    level: 9,
    memLevel: 9,
  });

const headerOf = (chunks: readonly Chunk[]): Chunk => {
  const header = chunks.find(({ type }) => type === "IHDR");
  if (header === undefined) throw new Error("a PNG file without IHDR");
  return header;
};

const end: Chunk = { type: "IEND", data: Buffer.alloc(0) };

/** The same picture in fewer bytes. */
export function recompressed(png: Buffer): Buffer {
  const chunks = chunksOf(png);
  return fileOf([headerOf(chunks), { type: "IDAT", data: pixelsOf(chunks) }, end]);
}

/** An animated PNG that repeats for ever; all frames have the same size. */
export function animated(frames: readonly Buffer[], seconds: number): Buffer {
  const [first] = frames;
  if (first === undefined) throw new Error("an animation has at least one frame");
  const header = headerOf(chunksOf(first));
  const control = Buffer.alloc(8);
  control.writeUInt32BE(frames.length, 0);
  let sequence = 0;
  const chunks: Chunk[] = [header, { type: "acTL", data: control }];
  for (const [index, frame] of frames.entries()) {
    const parts = chunksOf(frame);
    if (!headerOf(parts).data.equals(header.data)) throw new Error("the frames differ in size or format");
    const about = Buffer.alloc(26);
    about.writeUInt32BE(sequence++, 0);
    header.data.copy(about, 4, 0, 8);
    about.writeUInt16BE(Math.round(seconds * 1000), 20);
    about.writeUInt16BE(1000, 22);
    chunks.push({ type: "fcTL", data: about });
    const pixels = pixelsOf(parts);
    if (index === 0) chunks.push({ type: "IDAT", data: pixels });
    else {
      const number = Buffer.alloc(4);
      number.writeUInt32BE(sequence++);
      chunks.push({ type: "fdAT", data: Buffer.concat([number, pixels]) });
    }
  }
  return fileOf([...chunks, end]);
}
