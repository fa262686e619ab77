import { Candidates, NAME_END, NAME_START, START } from "./candidates.ts";
import { OPEN_ARRAY, OPEN_OBJECT } from "./json-bytes.ts";
import { RequestError } from "./request-error.ts";
import type { RowTable } from "./row-table.ts";
import { type AmbiguousKeyPolicy, type FieldLocation, NULL, RequestScan, type ScanOptions } from "./scan.ts";

/** etcd stores no larger object. It also bounds how long JSON.parse may hold the loop. */
const MAX_POD_BYTES = 1.5 * 1024 * 1024;

/** What kube-scheduler asks: which of these nodes, or how good is each of them, for this pod? */
export interface ExtenderRequest {
  /** An object; more is not promised. */
  readonly pod: unknown;
  readonly candidates: Candidates;
}

/**
 * Reads a request without building its nodes. Throws a RequestError when the request is wrong, and a AmbiguousKeyError when a worker should
 * read it.
 */
export const readRequest = (body: Buffer, aids?: ScanOptions): ExtenderRequest => scanRequest(body, "surprise", aids);

export function scanRequest(body: Buffer, unusual: AmbiguousKeyPolicy, aids?: ScanOptions): ExtenderRequest {
  const scan = new RequestScan(body, unusual, aids);
  return { pod: podOf(body, scan.found.pod), candidates: candidatesOf(body, scan) };
}

function podOf(body: Buffer, { shape, start, end }: FieldLocation): unknown {
  if (shape === NULL) throw new RequestError("the request has no Pod");
  if (shape !== OPEN_OBJECT) throw new RequestError(`Pod is no object at byte ${start}`);
  if (end - start > MAX_POD_BYTES) {
    throw new RequestError(`Pod has ${end - start} bytes, more than the ${MAX_POD_BYTES} that Kubernetes stores`, 413);
  }
  return JSON.parse(body.toString("utf8", start, end)) as unknown;
}

/** kube-scheduler sends one of the two. Where both came, Nodes is answered: a reply with Nodes does for either mode. */
function candidatesOf(body: Buffer, { found, items, nodes, names }: RequestScan): Candidates {
  expectShape("Nodes", found.nodes, OPEN_OBJECT, "an object");
  expectShape("Nodes.items", items, OPEN_ARRAY, "a list");
  expectShape("NodeNames", found.nodenames, OPEN_ARRAY, "a list");
  const namesCame = found.nodenames.shape !== NULL;
  if (found.nodes.shape === NULL && !namesCame) throw new RequestError("the request has neither Nodes nor NodeNames");
  const kind = namesCame && nodes.count === 0 ? "names" : "nodes";
  const rows = kind === "names" ? names : nodes;
  const candidates = new Candidates(kind, body, rows);
  checkNames(candidates, rows);
  return candidates;
}

function expectShape(what: string, { shape, start }: FieldLocation, expected: number, words: string): void {
  if (shape !== NULL && shape !== expected) throw new RequestError(`${what} is not ${words} at byte ${start}`);
}

function checkNames(candidates: Candidates, { cells, count, width }: RowTable): void {
  for (let i = 0, row = 0; i < count; i++, row += width) {
    const start = cells[row + NAME_START] as number;
    const end = cells[row + NAME_END] as number;
    if (start !== 0 && start !== end && (end >= 0 || candidates.name(i).isWellFormed())) continue;
    const fault = start === 0 ? "is missing or no text" : start === end ? "is empty" : "is not Unicode";
    const what = candidates.kind === "names" ? `NodeNames[${i}]` : `Nodes.items[${i}].metadata.name`;
    const at = candidates.kind === "nodes" ? cells[row + START] : start === 0 ? end : start;
    throw new RequestError(`${what} ${fault}, at byte ${at}`);
  }
}
