import { isDeepStrictEqual } from "node:util";
import { RequestError } from "../json-bytes.ts";
import { type ExtenderRequest, readRequest } from "../request.ts";
import type { ScanOptions } from "../scan.ts";
import { readWithJsonParse } from "./random-requests.ts";

/**
 * Reads a body and throws if the result differs from JSON.parse. Returns the outcome; `invalid` is a body that JSON.parse rejects
 * and the reader does not, because the fault is in a value that it skips.
 */
export function compareWithJsonParse(body: Buffer, options?: ScanOptions): "read" | "refused" | "invalid" {
  const expected = readWithJsonParse(body);
  let request: ExtenderRequest;
  try {
    request = readRequest(body, options);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    // A mutation can turn an escape that no name may have into another one.
    const hasEscape = error.message.endsWith("has an escape");
    if (expected !== undefined && !hasEscape)
      throw new Error(`rejected what JSON.parse reads: ${excerpt(body)}`, { cause: error });
    return "refused";
  }
  if (isJson(body) && !body.includes(ESCAPED_LABEL)) expectSameAsJsonParse(request, body);
  expectSameSlots(request, body);
  return expected === undefined ? "invalid" : "read";
}

/** A mutation can put an escape into the key of a label, which makes it an unknown label. */
const ESCAPED_LABEL = "joulie.io\\/";

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString("utf8"));
    return true;
  } catch {
    return false;
  }
}

export function expectSameAsJsonParse({ pod, candidates }: ExtenderRequest, body: Buffer): void {
  const read = readWithJsonParse(body);
  if (read === undefined) throw new Error(`read what JSON.parse rejects: ${excerpt(body)}`);
  const indices = Array.from({ length: candidates.count }, (_, i) => i);
  const ours = {
    kind: candidates.kind,
    pod,
    names: indices.map((i) => candidates.name(i)),
    profiles: indices.map((i) => candidates.powerProfile(i)),
    drainings: indices.map((i) => candidates.draining(i)),
    items: candidates.kind === "names" ? [] : indices.map((i) => JSON.parse(candidates.raw(i).toString()) as unknown),
  };
  if (!isDeepStrictEqual(ours, read)) {
    throw new Error(`read ${JSON.stringify(ours)} where JSON.parse reads ${JSON.stringify(read)}: ${excerpt(body)}`);
  }
}

/** Looks every name up through the candidates and compares the slots with those of a Map. */
function expectSameSlots({ candidates }: ExtenderRequest, body: Buffer): void {
  const names = Array.from({ length: candidates.count }, (_, i) => candidates.name(i));
  const slotByName = new Map(names.map((name, slot) => [name, slot]));
  const index = { slotOf: (name: string) => slotByName.get(name) ?? -1 };
  const slots = new Int32Array(candidates.count);
  candidates.slots(index, slots);
  if (!names.every((name, i) => slots[i] === slotByName.get(name)))
    throw new Error(`wrong slots ${slots.join()}: ${excerpt(body)}`);
}

const excerpt = (body: Buffer) => JSON.stringify(body.toString("latin1").slice(0, 2000));
