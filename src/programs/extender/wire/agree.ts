import { isDeepStrictEqual } from "node:util";
import { type ExtenderRequest, readRequest, requestOf } from "./request.ts";
import type { ScanAids } from "./scan.ts";
import { oracle } from "./test-documents.ts";
import { Surprise, WireError } from "./wire-error.ts";

/** How a body was read; throws where the reading is not the oracle's. */
export function agree(body: Buffer, aids?: ScanAids): "read" | "refused" | "surprise" {
  let way: "read" | "surprise" = "read";
  let request: ExtenderRequest;
  try {
    try {
      request = readRequest(body, aids);
    } catch (error) {
      if (!(error instanceof Surprise)) throw error;
      way = "surprise";
      request = requestOf(body, "last");
    }
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const read = oracle(body);
    if (read !== undefined) throw new Error(`refused what JSON.parse reads: ${shown(body)}`, { cause: error });
    return "refused";
  }
  expectOracle(request, body);
  return way;
}

export function expectOracle({ pod, candidates }: ExtenderRequest, body: Buffer): void {
  const read = oracle(body);
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
