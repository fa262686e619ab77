// Reads and writes PNG files: smaller files, and animations that store only what changes from frame to frame.
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

/** A picture of 8 bits per channel, without filters. */
interface Picture {
  readonly width: number;
  readonly height: number;
  /** 3 (RGB) or 4 (RGBA). */
  readonly channels: number;
  readonly pixels: Buffer;
}

interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A frame and how long it is shown. */
export interface Frame {
  readonly png: Buffer;
  readonly milliseconds: number;
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

/** What a filter predicts from the bytes to the left, above, and above to the left. */
const predictors: readonly ((left: number, above: number, corner: number) => number)[] = [
  () => 0,
  (left) => left,
  (_, above) => above,
  (left, above) => (left + above) >> 1,
  (left, above, corner) => {
    const guess = left + above - corner;
    const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)];
    return a <= b && a <= c ? left : b <= c ? above : corner;
  },
];

function decoded(png: Buffer): Picture {
  const chunks = chunksOf(png);
  const header = chunks.find(({ type }) => type === "IHDR")?.data;
  if (header === undefined) throw new Error("a PNG file without IHDR");
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const channels = { 2: 3, 6: 4 }[header[9] ?? 0];
  if (header[8] !== 8 || channels === undefined || header[12] !== 0)
    throw new Error("only RGB and RGBA pictures of 8 bits, not interlaced, are supported");
  const data = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === "IDAT").map((chunk) => chunk.data)));
  const stride = width * channels;
  const pixels = Buffer.alloc(stride * height);
  for (let row = 0; row < height; row++) {
    const from = row * (stride + 1);
    const predict = predictors[data[from] ?? 0] ?? (() => 0);
    const to = row * stride;
    for (let at = 0; at < stride; at++) {
      const left = at < channels ? 0 : (pixels[to + at - channels] ?? 0);
      const above = row === 0 ? 0 : (pixels[to + at - stride] ?? 0);
      const corner = row === 0 || at < channels ? 0 : (pixels[to + at - stride - channels] ?? 0);
      pixels[to + at] = (data[from + 1 + at] ?? 0) + predict(left, above, corner);
    }
  }
  return { width, height, channels, pixels };
}

/** The part of a picture, compressed as well as zlib can. Each row gets the filter with the smallest differences. */
function compressed({ width, channels, pixels }: Picture, part: Rectangle): Buffer {
  const [stride, own] = [width * channels, part.width * channels];
  const data = Buffer.alloc((own + 1) * part.height);
  const rows = predictors.map(() => Buffer.alloc(own));
  for (let row = 0; row < part.height; row++) {
    const from = (part.y + row) * stride + part.x * channels;
    let best = { filter: 0, sum: Number.POSITIVE_INFINITY };
    for (const [filter, predict] of predictors.entries()) {
      let sum = 0;
      const line = rows[filter] as Buffer;
      for (let at = 0; at < own; at++) {
        const left = at < channels ? 0 : (pixels[from + at - channels] ?? 0);
        const above = row === 0 ? 0 : (pixels[from + at - stride] ?? 0);
        const corner = row === 0 || at < channels ? 0 : (pixels[from + at - stride - channels] ?? 0);
        const difference = ((pixels[from + at] ?? 0) - predict(left, above, corner)) & 255;
        line[at] = difference;
        sum += difference < 128 ? difference : 256 - difference;
      }
      if (sum < best.sum) best = { filter, sum };
    }
    data[row * (own + 1)] = best.filter;
    rows[best.filter]?.copy(data, row * (own + 1) + 1);
  }
  return deflateSync(data, { level: 9, memLevel: 9 });
}

/** The smallest rectangle with all differences; one pixel if there are none. */
function changedPart(before: Picture, after: Picture): Rectangle {
  const { width, height, channels } = after;
  const stride = width * channels;
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let y = 0; y < height; y++) {
    const [one, other] = [before, after].map(({ pixels }) => pixels.subarray(y * stride, (y + 1) * stride));
    if (one === undefined || other === undefined || one.equals(other)) continue;
    top = Math.min(top, y);
    bottom = y;
    for (let x = 0; x < width; x++) {
      const at = x * channels;
      if (one.subarray(at, at + channels).equals(other.subarray(at, at + channels))) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
    }
  }
  return bottom < 0
    ? { x: 0, y: 0, width: 1, height: 1 }
    : { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

const whole = ({ width, height }: Picture): Rectangle => ({ x: 0, y: 0, width, height });

function headerOf({ width, height, channels }: Picture): Chunk {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data.set([8, channels === 3 ? 2 : 6, 0, 0, 0], 8);
  return { type: "IHDR", data };
}

const end: Chunk = { type: "IEND", data: Buffer.alloc(0) };

/** The same picture in fewer bytes. */
export function recompressed(png: Buffer): Buffer {
  const picture = decoded(png);
  return fileOf([headerOf(picture), { type: "IDAT", data: compressed(picture, whole(picture)) }, end]);
}

/** An animated PNG that repeats for ever; all frames have the same size. */
export function animated(frames: readonly Frame[]): Buffer {
  const pictures = frames.map(({ png }) => decoded(png));
  const [first] = pictures;
  if (first === undefined) throw new Error("an animation has at least one frame");
  const control = Buffer.alloc(8);
  control.writeUInt32BE(frames.length, 0);
  const chunks: Chunk[] = [headerOf(first), { type: "acTL", data: control }];
  let sequence = 0;
  const numbered = (data: Buffer): Buffer => {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(sequence++);
    return Buffer.concat([number, data]);
  };
  for (const [index, picture] of pictures.entries()) {
    if (!headerOf(picture).data.equals(headerOf(first).data)) throw new Error("the frames differ in size or format");
    const part = index === 0 ? whole(first) : changedPart(pictures[index - 1] ?? first, picture);
    const about = Buffer.alloc(22);
    for (const [at, value] of [part.width, part.height, part.x, part.y].entries()) about.writeUInt32BE(value, at * 4);
    about.writeUInt16BE(frames[index]?.milliseconds ?? 0, 16);
    about.writeUInt16BE(1000, 18);
    chunks.push({ type: "fcTL", data: numbered(about) });
    const data = compressed(picture, part);
    chunks.push(index === 0 ? { type: "IDAT", data } : { type: "fdAT", data: numbered(data) });
  }
  return fileOf([...chunks, end]);
}
