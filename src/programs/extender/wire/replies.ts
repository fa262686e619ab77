import type { Candidates } from "./candidates.ts";
import { CLOSE_ARRAY, COMMA, OPEN_ARRAY } from "./json-bytes.ts";

const HOST = Buffer.from('{"Host":');
/** What follows the name, by score. SCORE_MAX never exceeds 100. */
const scoreTexts = Array.from({ length: 101 }, (_, score) => scoreText(score));

/** `[{"Host":…,"Score":…},…]`: one entry per candidate, in the order of the request. Names are copied from the request. */
export function prioritizeReply(candidates: Candidates, scores: Int16Array): Buffer[] {
  const { body, count } = candidates;
  if (count === 0) return [Buffer.from("[]")];
  const textOf = (i: number): Buffer => scoreTexts[scores[i] ?? 0] ?? scoreText(scores[i] ?? 0);
  let length = 1;
  for (let i = 0; i < count; i++) {
    length += HOST.length + candidates.quotedNameEnd(i) - candidates.quotedNameStart(i) + textOf(i).length;
  }
  const bytes = Buffer.allocUnsafe(length);
  bytes[0] = OPEN_ARRAY;
  let at = 1;
  for (let i = 0; i < count; i++) {
    at = copyBytes(HOST, 0, HOST.length, bytes, at);
    at = copyBytes(body, candidates.quotedNameStart(i), candidates.quotedNameEnd(i), bytes, at);
    const text = textOf(i);
    at = copyBytes(text, 0, text.length, bytes, at);
  }
  // In place of the last comma.
  bytes[at - 1] = CLOSE_ARRAY;
  return [bytes];
}

function scoreText(score: number): Buffer {
  return Buffer.from(`,"Score":${score}},`);
}

/** Copies from[start, end) to `to` at `at` and returns the position behind it. For 20 bytes a loop is faster than Buffer.copy. */
function copyBytes(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number {
  const offset = at - start;
  for (let p = start; p < end; p++) to[p + offset] = from[p] as number;
  return end + offset;
}

/**
 * The answer to /filter as pieces to write one behind the other; whole Nodes among them are slices of the request, never copies.
 * `codes` says of each candidate why it is refused, as a position in `reasons`; 0 keeps it. What was not asked about is null:
 * kube-scheduler takes NodeNames if it sent names, else Nodes, as its new list. An empty list keeps no node, and so would null.
 */
export function filterReply(
  candidates: Candidates,
  codes: Uint8Array,
  reasons: readonly (string | undefined)[],
): Buffer[] {
  const [head, tail] =
    candidates.kind === "names"
      ? ['{"Nodes":null,"NodeNames":[', '],"FailedNodes":{},"FailedAndUnresolvableNodes":{']
      : ['{"Nodes":{"metadata":{},"items":[', ']},"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{'];
  return [
    Buffer.from(head),
    ...(candidates.kind === "names" ? keptNames(candidates, codes) : keptPieces(candidates, codes)),
    Buffer.from(tail),
    refused(candidates, codes, reasons),
    Buffer.from('},"Error":""}'),
  ];
}

/**
 * Neighbours that are kept go back as one slice, with the comma between them. A slice that another follows reaches to the start
 * of the candidate behind it, and so ends with the comma it needs.
 */
function keptPieces(candidates: Candidates, codes: Uint8Array): Buffer[] {
  const { body, count } = candidates;
  let last = count - 1;
  while (last >= 0 && codes[last] !== 0) last--;
  const pieces: Buffer[] = [];
  for (let i = 0; i <= last; i++) {
    if (codes[i] !== 0) continue;
    const first = i;
    while (i < last && codes[i + 1] === 0) i++;
    pieces.push(body.subarray(candidates.startOf(first), i === last ? candidates.endOf(i) : candidates.startOf(i + 1)));
  }
  return pieces;
}

/** Names are so short that a copy costs less than a slice: of 5,000 every other one may be refused. */
function keptNames(candidates: Candidates, codes: Uint8Array): Buffer[] {
  const { body, count } = candidates;
  if (!codes.some((code) => code !== 0)) return keptPieces(candidates, codes);
  let room = 0;
  for (let i = 0; i < count; i++) room += candidates.quotedNameEnd(i) - candidates.quotedNameStart(i) + 1;
  const bytes = Buffer.allocUnsafe(room);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (codes[i] !== 0) continue;
    at = copyBytes(body, candidates.quotedNameStart(i), candidates.quotedNameEnd(i), bytes, at);
    bytes[at++] = COMMA;
  }
  // Without the last comma.
  return [bytes.subarray(0, Math.max(0, at - 1))];
}

/** `"name":"reason",…` */
function refused(candidates: Candidates, codes: Uint8Array, reasons: readonly (string | undefined)[]): Buffer {
  const { body, count } = candidates;
  const texts = reasons.map((reason) => Buffer.from(`:${JSON.stringify(reason ?? "")},`));
  const textOf = (i: number) => texts[codes[i] as number] as Buffer;
  let room = 0;
  for (let i = 0; i < count; i++) {
    if (codes[i] === 0) continue;
    room += candidates.quotedNameEnd(i) - candidates.quotedNameStart(i) + textOf(i).length;
  }
  const bytes = Buffer.allocUnsafe(room);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (codes[i] === 0) continue;
    at = copyBytes(body, candidates.quotedNameStart(i), candidates.quotedNameEnd(i), bytes, at);
    const text = textOf(i);
    bytes.set(text, at);
    at += text.length;
  }
  // Without the last comma.
  return bytes.subarray(0, Math.max(0, at - 1));
}
