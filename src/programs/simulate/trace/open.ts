import { type FileHandle, open } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { fail, type Result } from "../../../core/units/index.ts";
import { readTrace } from "./read.ts";
import type { Trace } from "./trace.ts";

/** Reads a CSV file. Compression is detected from the first bytes, not the name. */
export async function openTrace(path: string): Promise<Result<Trace, string>> {
  try {
    await using file = await open(path);
    const result = await readTrace(await textsOf(file));
    return result.ok ? result : fail(`${path}: ${result.error}`);
  } catch (error) {
    return fail(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function textsOf(file: FileHandle): Promise<AsyncIterable<string>> {
  const compressed = await isGzip(file);
  const bytes = file.createReadStream({ start: 0, autoClose: false });
  if (!compressed) return bytes.setEncoding("utf8");
  const unpacked = createGunzip();
  bytes.on("error", (error) => unpacked.destroy(error));
  // A parse error ends reading before the end of the file.
  unpacked.on("close", () => bytes.destroy());
  return bytes.pipe(unpacked).setEncoding("utf8");
}

async function isGzip(file: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(2), position: 0 });
  return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
}
