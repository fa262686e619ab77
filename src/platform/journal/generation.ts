import { createHash } from "node:crypto";
import * as z from "zod";
import { entrySchema, type JournalEntry } from "./entry.ts";

/** The content of one journal file. */
export interface Generation {
  /** Incremented with every file written: of two valid files the higher one is newer. */
  readonly generation: number;
  readonly entries: readonly JournalEntry[];
}

const VERSION = 1;
const ABOUT =
  "How power limits were before Joulie changed them. `joulie agent restore` puts them back; do not edit this by hand.";
/** 4,000 nodes with three boards each need about 4 MB. */
const MAX_FILE_LENGTH = 64 * 2 ** 20;

const fileSchema = z.object({
  about: z.string(),
  version: z.literal(VERSION),
  generation: z.number().int().min(0),
  entries: z.array(entrySchema),
  checksum: z.string(),
});

/** Readable JSON with a checksum of its content. */
export function formatGeneration({ generation, entries }: Generation): string {
  const body = { about: ABOUT, version: VERSION, generation, entries };
  const text = `${JSON.stringify({ ...body, checksum: checksumOf(body) }, undefined, 1)}\n`;
  // A longer file could not be read again.
  if (text.length > MAX_FILE_LENGTH) throw new Error(`the journal would be longer than ${MAX_FILE_LENGTH} characters`);
  return text;
}

export type ReadGeneration =
  | { readonly good: Generation; readonly damage?: never }
  /** Why the file cannot be used. `newer`: valid, but written by a later version of Joulie, whose entries must be retained. */
  | { readonly good?: never; readonly damage: string; readonly newer?: boolean };

/** Reads a journal file. Any difference from what was written is damage: a truncated file, a flipped bit, a manual edit. */
export function readGeneration(text: string): ReadGeneration {
  if (text.length > MAX_FILE_LENGTH) return { damage: "it is too long" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { damage: text.trim() === "" ? "it is empty" : "it is not JSON: truncated or overwritten" };
  }
  const { checksum, ...body } = (value ?? {}) as Record<string, unknown>;
  if (checksum !== checksumOf(body)) return { damage: "its checksum does not match" };
  if (typeof body["version"] === "number" && body["version"] > VERSION)
    return { damage: `it has version ${body["version"]}, and this Joulie reads up to ${VERSION}`, newer: true };
  const read = fileSchema.safeParse(value);
  return read.success ? { good: read.data } : { damage: `its content is invalid: ${read.error.issues[0]?.message}` };
}

const checksumOf = (body: unknown): string => createHash("sha256").update(JSON.stringify(body)).digest("hex");
