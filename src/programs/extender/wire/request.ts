import { Candidates, NAME_END, NAME_START, type RowTable, START } from "./candidates.ts";
import { OPEN_ARRAY, OPEN_OBJECT, RequestError } from "./json-bytes.ts";
import { KnownNodes } from "./known-nodes.ts";
import {
  createCandidateTables,
  type FieldLocation,
  type LabelKeys,
  labelBytes,
  NULL,
  RequestScan,
  type ScanOptions,
} from "./scan.ts";

/** etcd's limit for an object. It also bounds how long JSON.parse may block the event loop. */
const MAX_POD_BYTES = 1.5 * 1024 * 1024;

export interface ExtenderRequest {
  /** Any JSON object: its contents are not validated here. */
  readonly pod: unknown;
  readonly candidates: Candidates;
}

export function readRequest(body: Buffer, options?: ScanOptions): ExtenderRequest {
  const scan = new RequestScan(body, options);
  return { pod: podOf(body, scan.found.pod), candidates: candidatesOf(body, scan) };
}

/** Reads requests into memory that it reuses. */
export class RequestReader {
  readonly #options: ScanOptions;

  constructor(labels: LabelKeys) {
    this.#options = { knownNodes: new KnownNodes(), tables: createCandidateTables(), labels: labelBytes(labels) };
  }

  /** Decide a request before reading the next one, which reuses the same memory. */
  read(body: Buffer): ExtenderRequest {
    return readRequest(body, this.#options);
  }
}

function podOf(body: Buffer, { shape, start, end }: FieldLocation): unknown {
  if (shape === NULL) throw new RequestError("the request has no Pod");
  if (shape !== OPEN_OBJECT) throw new RequestError(`Pod is not an object at byte ${start}`);
  if (end - start > MAX_POD_BYTES) {
    throw new RequestError(`Pod has ${end - start} bytes, more than the ${MAX_POD_BYTES} that Kubernetes stores`, 413);
  }
  try {
    return JSON.parse(body.toString("utf8", start, end));
  } catch {
    throw new RequestError(`Pod is not valid JSON, at byte ${start}`);
  }
}

/** kube-scheduler sends one of the two lists. With both, Nodes wins: a reply with Nodes works in either mode. */
function candidatesOf(body: Buffer, { found, items, nodes, names }: RequestScan): Candidates {
  expectShape("Nodes", found.nodes, OPEN_OBJECT, "an object");
  expectShape("Nodes.items", items, OPEN_ARRAY, "a list");
  expectShape("NodeNames", found.nodenames, OPEN_ARRAY, "a list");
  const hasNames = found.nodenames.shape !== NULL;
  if (found.nodes.shape === NULL && !hasNames) throw new RequestError("the request has neither Nodes nor NodeNames");
  const kind = hasNames && nodes.count === 0 ? "names" : "nodes";
  const rows = kind === "names" ? names : nodes;
  const candidates = new Candidates(kind, body, rows);
  checkNames(candidates, rows);
  return candidates;
}

function expectShape(what: string, { shape, start }: FieldLocation, expected: number, expectedText: string): void {
  if (shape !== NULL && shape !== expected) throw new RequestError(`${what} is not ${expectedText} at byte ${start}`);
}

function checkNames(candidates: Candidates, { cells, count, width }: RowTable): void {
  for (let i = 0, row = 0; i < count; i++, row += width) {
    const start = cells[row + NAME_START] as number;
    const end = cells[row + NAME_END] as number;
    if (start !== 0 && start !== end) continue;
    const fault = start === 0 ? "is missing or not a string" : "is empty";
    const what = candidates.kind === "names" ? `NodeNames[${i}]` : `Nodes.items[${i}].metadata.name`;
    const at = candidates.kind === "nodes" ? cells[row + START] : start === 0 ? end : start;
    throw new RequestError(`${what} ${fault}, at byte ${at}`);
  }
}
