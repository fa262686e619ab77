import { isDeepStrictEqual } from "node:util";
import { type ExtenderRequest, readRequest, scanRequest } from "../request.ts";
import { AmbiguousKeyError, RequestError } from "../request-error.ts";
import type { ScanOptions } from "../scan.ts";
import { readWithJsonParse } from "./random-requests.ts";

/** Reads a body and throws if the result differs from JSON.parse. Returns the outcome. */
export function compareWithJsonParse(body: Buffer, options?: ScanOptions): "read" | "refused" | "ambiguous" {
  let way: "read" | "ambiguous" = "read";
  let request: ExtenderRequest;
  try {
    try {
      request = readRequest(body, options);
    } catch (error) {
      if (!(error instanceof AmbiguousKeyError)) throw error;
      way = "ambiguous";
      request = scanRequest(body, "last");
    }
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const read = readWithJsonParse(body);
    if (read !== undefined) throw new Error(`rejected what JSON.parse reads: ${excerpt(body)}`, { cause: error });
    return "refused";
  }
  expectSameAsJsonParse(request, body);
  expectSameSlots(request, body);
  return way;
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
