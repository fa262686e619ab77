import { isDeepStrictEqual } from "node:util";
import { type ExtenderRequest, readRequest, scanRequest } from "../request.ts";
import { AmbiguousKeyError, RequestError } from "../request-error.ts";
import type { ScanOptions } from "../scan.ts";
import { readWithJsonParse } from "./random-requests.ts";

/** How a body was read; throws where the reading is not the oracle's. */
export function compareWithJsonParse(body: Buffer, aids?: ScanOptions): "read" | "refused" | "surprise" {
  let way: "read" | "surprise" = "read";
  let request: ExtenderRequest;
  try {
    try {
      request = readRequest(body, aids);
    } catch (error) {
      if (!(error instanceof AmbiguousKeyError)) throw error;
      way = "surprise";
      request = scanRequest(body, "last");
    }
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const read = readWithJsonParse(body);
    if (read !== undefined) throw new Error(`refused what JSON.parse reads: ${shown(body)}`, { cause: error });
    return "refused";
  }
  expectSameAsJsonParse(request, body);
  return way;
}

export function expectSameAsJsonParse({ pod, candidates }: ExtenderRequest, body: Buffer): void {
  const read = readWithJsonParse(body);
  if (read === undefined) throw new Error(`read what JSON.parse refuses: ${shown(body)}`);
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
    throw new Error(`read ${JSON.stringify(ours)} where JSON.parse reads ${JSON.stringify(read)}: ${shown(body)}`);
  }
  const slotOf = (name: string) => read.names.indexOf(name);
  const slots = new Int32Array(candidates.count);
  candidates.slots({ slotOf }, slots);
  if (!isDeepStrictEqual([...slots], read.names.map(slotOf)))
    throw new Error(`wrong slots ${slots.join()}: ${shown(body)}`);
}

const shown = (body: Buffer) => JSON.stringify(body.toString("latin1").slice(0, 2000));
